import { describe, expect, it } from 'vitest';
import { expectTruth } from '@opentill/testkit/truth-run';
import { FAULTS, runTruth, SOLID_LAG, type TruthFindings, type TruthPlan } from './truth-run.ts';

const TEST_TIMEOUT_MS = 300_000;
const LONG = { blocks: 120, reorgs: 12, sources: 2 } as const;
const KINDS = [
  'transfer',
  'withDataBehind',
  'ofNothing',
  'byContract',
  'fakeToken',
  'reverted',
  'outOfEnergy',
  'trx',
];

/** What must hold of every run, and that the run had what it is about. */
function expectEveryKind(findings: TruthFindings, deposits = 150): void {
  expectTruth(findings, deposits);
  expect(findings.orphanings).toBeGreaterThan(0);
  expect(Object.keys(findings.sent)).toEqual(expect.arrayContaining(KINDS));
}

describe('over 120 blocks and 12 reorganisations', () => {
  const plans: readonly TruthPlan[] = [
    { ...LONG, seed: 1, name: 'two lying sources' },
    { ...LONG, seed: 2, name: 'five blocks at a time', network: { maxBlockRange: 5 } },
    { ...LONG, seed: 3, name: 'a greater depth', network: { finality: { staleSeconds: 600, minDepth: 9 } } },
  ];
  const told = new Set<string>();

  it.each(plans)(
    'seed $seed, $name: nothing is missed or invented, as it is by a naive scanner',
    async (plan) => {
      const findings = await runTruth(plan);
      for (const injected of findings.lies) for (const fault of Object.keys(injected)) told.add(fault);
      expectEveryKind(findings);
      expect(findings.naive.missed).toBeGreaterThanOrEqual(10);
      expect(findings.naive.invented).toBeGreaterThanOrEqual(10);
    },
    TEST_TIMEOUT_MS,
  );

  it('every lie that the sources can tell was among them', () => {
    expect([...told].toSorted()).toEqual(Object.keys(FAULTS).toSorted());
  });

  it(
    'while one of two sources is dead the other one is believed alone, with an alarm, as soon as the network allows it',
    async () => {
      const findings = await runTruth({
        ...LONG,
        seed: 6,
        name: 'outage',
        outage: 'until-verified',
        network: { aloneAfterSeconds: 2 },
      });
      expectEveryKind(findings);
      expect(findings.outage).toMatchObject({
        isVerified: true,
        alarms: expect.arrayContaining(['single-source']),
      });
      expect(findings.outage?.verifiedBlocks).toBeGreaterThanOrEqual(LONG.blocks / 3 - 1);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'while one of two sources is dead and the network never believes one alone, nothing is verified, with alarms, until it is back',
    async () => {
      const findings = await runTruth({
        blocks: 60,
        reorgs: 6,
        sources: 2,
        seed: 10,
        name: 'outage, never alone',
        outage: 'until-alarm',
        network: { aloneAfterSeconds: 'never' },
      });
      expectEveryKind(findings, 60);
      expect(findings.outage).toMatchObject({
        isVerified: false,
        alarms: expect.arrayContaining(['verification-failing', 'source-down']),
      });
      expect(findings.outage?.alarms).not.toContain('single-source');
      // What the dead one had told of while it lived, and no block more.
      expect(findings.outage?.verifiedBlocks).toBeLessThanOrEqual(SOLID_LAG);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'nothing is missed or invented with a single source that leaves out, lags and jumps, and calls solid what is not',
    async () =>
      expectEveryKind(await runTruth({ blocks: 60, reorgs: 6, sources: 1, seed: 7, name: 'one source' }), 80),
    TEST_TIMEOUT_MS,
  );
});

describe('the same runs, to show that they would tell', () => {
  /** One source alone that always tells the same lie cannot be found out. */
  const ALONE = { blocks: 20, reorgs: 2, sources: 1 } as const;

  it(
    'find what is missed when the only source leaves it out of its receipts',
    async () => {
      const findings = await runTruth({
        ...ALONE,
        seed: 8,
        name: 'control: left out',
        faults: { droppedLog: 1 },
      });
      expect(findings.settled).toBe(true);
      expect(findings.missed.length).toBeGreaterThan(0);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'find what is invented when the only source puts it into its receipts',
    async () => {
      const findings = await runTruth({
        ...ALONE,
        seed: 9,
        name: 'control: put in',
        faults: { inventedLog: 1 },
      });
      expect(findings.settled).toBe(true);
      expect(findings.invented.length).toBeGreaterThan(0);
    },
    TEST_TIMEOUT_MS,
  );
});
