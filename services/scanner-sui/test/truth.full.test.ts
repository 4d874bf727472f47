import { describe, expect, it } from 'vitest';
import { expectTruth } from '@opentill/testkit/truth-run';
import { NODE_FAULTS } from './byzantine-nodes.ts';
import { runTruth, type TruthFindings, type TruthPlan } from './truth-run.ts';

const TEST_TIMEOUT_MS = 1_200_000;
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

function expectEveryKind(findings: TruthFindings, deposits = 150): void {
  expectTruth(findings, deposits);
  expect(Object.keys(findings.sent)).toEqual(expect.arrayContaining(KINDS));
}

describe('120 checkpoints', () => {
  const plans: readonly TruthPlan[] = [
    { ...LONG, seed: 1, name: 'rests', network: { restIntervalMs: 300 } },
    { ...LONG, seed: 2, name: 'five checkpoints at a time', network: { maxBlockRange: 5 } },
    { ...LONG, seed: 3, name: 'restarted four times', restarts: 4 },
  ];
  const occurred = new Set<string>();

  it.each(plans)(
    'misses and invents no deposit, unlike a naive scanner (seed $seed, $name)',
    async (plan) => {
      const findings = await runTruth(plan);
      for (const injectedFaults of findings.injectedFaults)
        for (const kind of Object.keys(injectedFaults)) occurred.add(kind);
      expectEveryKind(findings);
      expect(findings.naive.missed).toBeGreaterThanOrEqual(3);
      expect(findings.naive.invented).toBeGreaterThanOrEqual(1);
    },
    TEST_TIMEOUT_MS,
  );

  it('injects every fault of the nodes in these runs', () => {
    expect([...occurred].toSorted()).toEqual(NODE_FAULTS.toSorted());
  });

  it(
    'accepts the other node with an alarm after aloneAfterSeconds if one is down',
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
    'verifies no block while a node is down and aloneAfterSeconds is never',
    async () => {
      const findings = await runTruth({
        blocks: 60,
        sources: 2,
        seed: 10,
        name: 'outage, never a single source',
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
    'misses and invents no deposit with a single unreliable node',
    async () => expectEveryKind(await runTruth({ blocks: 60, sources: 1, seed: 7, name: 'one node' }), 60),
    TEST_TIMEOUT_MS,
  );
});

describe('control run with an unknown address', () => {
  it(
    'finds the missed deposits of an address that the scanner does not know',
    async () => {
      const plan = { blocks: 60, sources: 1, seed: 8, name: 'control', isControl: true } as const;
      const findings = await runTruth(plan);
      expect(findings.missed.length).toBeGreaterThan(0);
      expect(findings.invented).toEqual([]);
    },
    TEST_TIMEOUT_MS,
  );
});
