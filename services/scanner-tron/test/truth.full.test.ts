import { describe, expect, it } from '@jest/globals';
import { FAULTS, reportOf, runTruth, type TruthFindings, type TruthPlan } from './truth-run.ts';

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

async function run(plan: TruthPlan): Promise<TruthFindings> {
  const findings = await runTruth(plan);
  process.stdout.write(`${reportOf(plan, findings)}\n`);
  return findings;
}

/** What must hold of every run, and that the run had what it is about. */
function expectTruth(findings: TruthFindings, deposits = 150): void {
  expect(findings).toMatchObject({ settled: true, missed: [], invented: [], unverified: 0, untold: [] });
  expect(findings.deposits).toBeGreaterThanOrEqual(deposits);
  expect(findings.orphanings).toBeGreaterThan(0);
  expect(Object.keys(findings.sent)).toEqual(expect.arrayContaining(KINDS));
}

describe('over 120 blocks and 12 reorganisations', () => {
  const plans: readonly TruthPlan[] = [
    { ...LONG, seed: 1, name: 'two lying sources' },
    { ...LONG, seed: 2, name: 'five blocks at a time', network: { maxBlockRange: 5 } },
    { ...LONG, seed: 3, name: 'a depth besides', network: { finality: { staleSeconds: 600, minDepth: 8 } } },
  ];
  const told = new Set<string>();

  it.each(plans)(
    'seed $seed, $name: nothing is missed or invented, as it is by a naive scanner',
    async (plan) => {
      const findings = await run(plan);
      for (const injected of findings.lies) for (const fault of Object.keys(injected)) told.add(fault);
      expectTruth(findings);
      expect(findings.naive.missed).toBeGreaterThanOrEqual(10);
      expect(findings.naive.invented).toBeGreaterThanOrEqual(10);
    },
    TEST_TIMEOUT_MS,
  );

  it('every lie that the sources can tell was among them', () => {
    expect([...told].toSorted()).toEqual(Object.keys(FAULTS).toSorted());
  });

  it(
    'nothing is missed or invented while one of the two sources is dead for a third of the time',
    async () =>
      expectTruth(
        await run({
          ...LONG,
          seed: 6,
          name: 'outage',
          hasOutage: true,
          network: { aloneAfterSeconds: 2 },
          faults: { droppedLog: 0, inventedLog: 0, inventedSuccess: 0 },
        }),
      ),
    TEST_TIMEOUT_MS,
  );

  it(
    'nothing is missed or invented with a single source that leaves out, lags and jumps',
    async () =>
      expectTruth(await run({ blocks: 60, reorgs: 6, sources: 1, seed: 7, name: 'one source' }), 80),
    TEST_TIMEOUT_MS,
  );
});

describe('the same runs, to show that they would tell', () => {
  it(
    'find what is missed and what is invented when one source alone says what receipts hold',
    async () => {
      const faults = { droppedLog: 0.2, inventedLog: 0.2, inventedSuccess: 0.3 };
      const findings = await run({ blocks: 40, reorgs: 3, sources: 1, seed: 8, name: 'control', faults });
      expect(findings.missed.length).toBeGreaterThan(0);
      expect(findings.invented.length).toBeGreaterThan(0);
    },
    TEST_TIMEOUT_MS,
  );
});
