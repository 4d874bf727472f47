import { describe, expect, it } from 'vitest';
import { expectTruth } from '@opentill/testkit/truth-run';
import { FAULTS, runTruth, SOLID_LAG, type TruthFindings, type TruthPlan } from './truth-run.ts';

const TEST_TIMEOUT_MS = 1_200_000;
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

function expectEveryKind(findings: TruthFindings, deposits = 150): void {
  expectTruth(findings, deposits);
  expect(findings.orphanings).toBeGreaterThan(0);
  expect(Object.keys(findings.sent)).toEqual(expect.arrayContaining(KINDS));
}

describe('120 blocks and 12 reorganisations', () => {
  const plans: readonly TruthPlan[] = [
    { ...LONG, seed: 1, name: 'rests', network: { restIntervalMs: 300 } },
    { ...LONG, seed: 2, name: 'five blocks at a time', network: { maxBlockRange: 5 } },
    { ...LONG, seed: 3, name: 'a greater depth', network: { finality: { staleSeconds: 600, minDepth: 9 } } },
  ];
  const occurred = new Set<string>();

  it.each(plans)(
    'misses and invents no deposit, unlike a naive scanner (seed $seed, $name)',
    async (plan) => {
      const findings = await runTruth(plan);
      for (const injected of findings.injectedFaults)
        for (const fault of Object.keys(injected)) occurred.add(fault);
      expectEveryKind(findings);
      expect(findings.naive.missed).toBeGreaterThanOrEqual(10);
      expect(findings.naive.invented).toBeGreaterThanOrEqual(10);
    },
    TEST_TIMEOUT_MS,
  );

  it('injects every fault of the sources in these runs', () => {
    expect([...occurred].toSorted()).toEqual(Object.keys(FAULTS).toSorted());
  });

  it(
    'accepts the other source with an alarm after aloneAfterSeconds if one is down',
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
    'verifies no block while a source is down and aloneAfterSeconds is never',
    async () => {
      const findings = await runTruth({
        blocks: 60,
        reorgs: 6,
        sources: 2,
        seed: 10,
        name: 'outage, never a single source',
        outage: 'until-alarm',
        network: { aloneAfterSeconds: 'never' },
      });
      expectEveryKind(findings, 60);
      expect(findings.outage).toMatchObject({
        isVerified: false,
        alarms: expect.arrayContaining(['verification-failing', 'source-down']),
      });
      expect(findings.outage?.alarms).not.toContain('single-source');
      // Only blocks that the dead source had returned before.
      expect(findings.outage?.verifiedBlocks).toBeLessThanOrEqual(SOLID_LAG);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'misses and invents no deposit with a single unreliable source',
    async () =>
      expectEveryKind(await runTruth({ blocks: 60, reorgs: 6, sources: 1, seed: 7, name: 'one source' }), 80),
    TEST_TIMEOUT_MS,
  );
});

describe('control runs with wrong receipts', () => {
  /** A single source that always repeats a wrong answer cannot be detected. */
  const ONE_SOURCE = { blocks: 20, reorgs: 2, sources: 1 } as const;

  it(
    'finds the missed deposits if the only source omits them from its receipts',
    async () => {
      const findings = await runTruth({
        ...ONE_SOURCE,
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
    'finds the invented deposits if the only source adds them to its receipts',
    async () => {
      const findings = await runTruth({
        ...ONE_SOURCE,
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
