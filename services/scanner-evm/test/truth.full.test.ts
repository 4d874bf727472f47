import { describe, expect, it } from 'vitest';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { Transfer, TransferPosition } from '@opentill/chain/transfer';
import type { BaseUnits } from '@opentill/domain/money';
import { expectTruth } from '@opentill/testkit/truth-run';
import { FAULTS, runTruth, type TruthFindings, type TruthPlan } from './truth-run.ts';

const TEST_TIMEOUT_MS = 240_000;
const LONG = { blocks: 300, reorgs: 15, sources: 2 } as const;

/** What must hold of every run, and that the run had what it is about. */
function expectReorganised(findings: TruthFindings, atLeast = { deposits: 1_000, orphanings: 10 }): void {
  expectTruth(findings, atLeast.deposits);
  expect(findings.orphanings).toBeGreaterThanOrEqual(atLeast.orphanings);
  const { renumbered, failed, vanished } = findings.fates;
  expect(Math.min(renumbered, failed, vanished)).toBeGreaterThan(0);
}

/** The faults were there to be withstood: those of logs at every source. */
function expectLies({ lies }: TruthFindings): void {
  for (const injected of lies) {
    expect(Object.keys(injected)).toEqual(
      expect.arrayContaining([
        'falseEmpty',
        'droppedBlockOfLogs',
        'droppedLog',
        'duplicatedLog',
        'inventedLog',
      ]),
    );
  }
  expect(lies.flatMap((injected) => Object.keys(injected))).toEqual(
    expect.arrayContaining(['laggingNode', 'connectionReset', 'truncatedJson', 'unavailable', 'delayed']),
  );
}

describe('over 300 blocks, 15 reorganisations and 1,000 deposits', () => {
  const plans: readonly TruthPlan[] = [
    { ...LONG, seed: 1, name: 'eight confirmations' },
    { ...LONG, seed: 2, name: 'finalized', network: { confirmations: 'finalized' } },
    { ...LONG, seed: 3, name: 'without blooms', network: { bloom: false } },
    { ...LONG, seed: 4, name: 'without announced heads', network: { wsUrl: undefined as never } },
    { ...LONG, seed: 5, name: 'five blocks at a time', network: { maxBlockRange: 5 } },
  ];
  const told = new Map<number, readonly string[]>();

  it.each(plans)(
    'seed $seed, $name: nothing is missed or invented, as it is by a naive scanner',
    async (plan) => {
      const findings = await runTruth(plan);
      told.set(
        plan.seed,
        findings.lies.flatMap((injected) => Object.keys(injected)),
      );
      expectReorganised(findings);
      expectLies(findings);
      expect(findings.naive.missed).toBeGreaterThanOrEqual(100);
      expect(findings.naive.invented).toBeGreaterThanOrEqual(15);
    },
    TEST_TIMEOUT_MS,
  );

  it('every lie and every limit that the sources can have was among them', () => {
    expect([...told.keys()]).toEqual(plans.map(({ seed }) => seed));
    const every = [...Object.keys(FAULTS), 'rangeCap', 'resultCap'];
    expect([...new Set([...told.values()].flat())].toSorted()).toEqual(every.toSorted());
  });

  it(
    'nothing is missed or invented while one of the two sources is dead for a third of the time',
    async () =>
      expectReorganised(
        await runTruth({
          ...LONG,
          seed: 6,
          name: 'outage',
          outage: 'brief',
          network: { aloneAfterSeconds: 2 },
        }),
      ),
    TEST_TIMEOUT_MS,
  );

  it(
    'nothing is missed or invented with a single source, whose receipts are read',
    async () => {
      const plan = { seed: 7, name: 'one source', blocks: 120, reorgs: 6, sources: 1 } as const;
      expectReorganised(await runTruth(plan), { deposits: 400, orphanings: 1 });
    },
    TEST_TIMEOUT_MS,
  );
});

/** A reader that takes the logs of one source for what happened, and never asks a receipt. */
function believingLogs(reader: ChainReader): ChainReader {
  return {
    ...reader,
    readVerified: (from, to, _expected, options) => reader.readSeen(from, to, options),
    async confirmTransfers(candidates, options) {
      const { confirmed, refuted } = await reader.confirmTransfers(candidates, options);
      const believed = refuted.map((candidate): Transfer => ({
        ...candidate,
        chain: reader.chain,
        position: `log:${candidate.indexInBlock}` as TransferPosition,
        feeBaseUnits: 0n as BaseUnits,
      }));
      return { confirmed: [...confirmed, ...believed], refuted: [] };
    },
  };
}

describe('the same runs, to show that they would tell', () => {
  const SHORT = { blocks: 80, reorgs: 4 } as const;

  it(
    'find what is missed and what is invented when the logs of one source are believed',
    async () => {
      const findings = await runTruth({
        ...SHORT,
        seed: 8,
        name: 'control: logs believed',
        sources: 1,
        faults: { droppedLog: 0.3, inventedLog: 0.15 },
        crippled: believingLogs,
      });
      expect(findings.settled).toBe(true);
      expect(findings.missed.length).toBeGreaterThan(0);
      expect(findings.invented.length).toBeGreaterThan(0);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'find what is verified too early when reorganisations are deeper than the confirmations',
    async () => {
      const findings = await runTruth({
        // Twelve, of depths 1 to 6: with four of at most four it is chance whether one goes below what is verified.
        blocks: 100,
        reorgs: 12,
        seed: 9,
        name: 'control: one confirmation',
        sources: 2,
        network: { confirmations: 1 },
      });
      expect(findings.settled).toBe(true);
      expect(findings.unverified).toBeGreaterThan(0);
    },
    TEST_TIMEOUT_MS,
  );
});
