import { describe, expect, it } from 'vitest';
import { expectTruth } from '@opentill/testkit/truth-run';
import { LIES } from './lying-nodes.ts';
import { runTruth, type TruthFindings, type TruthPlan } from './truth-run.ts';

const TEST_TIMEOUT_MS = 300_000;
const LONG = { blocks: 120, sources: 2 } as const;
const KINDS = [
  'coin',
  'intoBalance',
  'twice',
  'batch',
  'native',
  'gasless',
  'toHimself',
  'failed',
  'ofNothing',
];

/** What must hold of every run, and that the run had what it is about. */
function expectEveryKind(findings: TruthFindings, deposits = 150): void {
  expectTruth(findings, deposits);
  expect(Object.keys(findings.sent)).toEqual(expect.arrayContaining(KINDS));
}

describe('over 120 checkpoints', () => {
  const plans: readonly TruthPlan[] = [
    { ...LONG, seed: 1, name: 'two lying nodes' },
    { ...LONG, seed: 2, name: 'five checkpoints at a time', network: { maxBlockRange: 5 } },
    { ...LONG, seed: 3, name: 'started anew four times', restarts: 4 },
  ];
  const told = new Set<string>();

  it.each(plans)(
    'seed $seed, $name: nothing is missed or invented, as it is by a naive scanner',
    async (plan) => {
      const findings = await runTruth(plan);
      for (const lies of findings.lies) for (const lie of Object.keys(lies)) told.add(lie);
      expectEveryKind(findings);
      expect(findings.naive.missed).toBeGreaterThanOrEqual(3);
      expect(findings.naive.invented).toBeGreaterThanOrEqual(1);
    },
    TEST_TIMEOUT_MS,
  );

  it('every lie that the nodes can tell was among them', () => {
    expect([...told].toSorted()).toEqual(LIES.toSorted());
  });

  it(
    'while one of two nodes is dead the other one is believed alone, with an alarm, as soon as the network allows it',
    async () => {
      const network = { aloneAfterSeconds: 2 };
      const findings = await runTruth({
        ...LONG,
        seed: 6,
        name: 'outage',
        outage: 'until-verified',
        network,
      });
      expectEveryKind(findings);
      expect(findings.outage).toMatchObject({
        isVerified: true,
        alarms: expect.arrayContaining(['single-source']),
      });
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'while one of two nodes is dead and the network never believes one alone, nothing is verified, with alarms, until it is back',
    async () => {
      const findings = await runTruth({
        blocks: 60,
        sources: 2,
        seed: 10,
        name: 'outage, never alone',
        outage: 'until-alarm',
        network: { aloneAfterSeconds: 'never' },
      });
      expectEveryKind(findings, 60);
      expect(findings.outage).toMatchObject({ isVerified: false });
      expect(findings.outage?.alarms).not.toContain('single-source');
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'nothing is missed or invented with a single node that leaves out, lags, is cut and falls silent',
    async () => expectEveryKind(await runTruth({ blocks: 60, sources: 1, seed: 7, name: 'one node' }), 60),
    TEST_TIMEOUT_MS,
  );
});

describe('the same runs, to show that they would tell', () => {
  it(
    'find what is missed when an address is paid that the scanner does not know',
    async () => {
      const plan = { blocks: 60, sources: 1, seed: 8, name: 'control', isControl: true } as const;
      const findings = await runTruth(plan);
      expect(findings.missed.length).toBeGreaterThan(0);
      expect(findings.invented).toEqual([]);
    },
    TEST_TIMEOUT_MS,
  );
});
