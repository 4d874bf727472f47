import { describe, expect, it } from 'vitest';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { Transfer, TransferPosition } from '@opentill/chain/transfer';
import type { BaseUnits } from '@opentill/domain/money';
import { expectTruth } from '@opentill/testkit/truth-run';
import { FAULTS, runTruth, type TruthFindings, type TruthPlan } from './truth-run.ts';

const TEST_TIMEOUT_MS = 1_200_000;
const LONG = { blocks: 300, reorgs: 15, sources: 2 } as const;

function expectReorganised(findings: TruthFindings, atLeast = { deposits: 1_000, orphanings: 10 }): void {
  expectTruth(findings, atLeast.deposits);
  expect(findings.orphanings).toBeGreaterThanOrEqual(atLeast.orphanings);
  const { renumbered, failed, vanished } = findings.fates;
  expect(Math.min(renumbered, failed, vanished)).toBeGreaterThan(0);
}

function expectLogFaults({ injectedFaults }: TruthFindings): void {
  for (const injected of injectedFaults) {
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
  expect(injectedFaults.flatMap((injected) => Object.keys(injected))).toEqual(
    expect.arrayContaining(['laggingNode', 'connectionReset', 'truncatedJson', 'unavailable', 'delayed']),
  );
}

describe('300 blocks, 15 reorganisations and 1,000 deposits', () => {
  const plans: readonly TruthPlan[] = [
    { ...LONG, seed: 1, name: 'eight confirmations' },
    { ...LONG, seed: 2, name: 'finalized', network: { confirmations: 'finalized' } },
    { ...LONG, seed: 3, name: 'without blooms', network: { bloom: false } },
    { ...LONG, seed: 4, name: 'rests', network: { wsUrl: undefined as never, restIntervalMs: 300 } },
    { ...LONG, seed: 5, name: 'five blocks at a time', network: { maxBlockRange: 5 } },
  ];
  const occurred = new Map<number, readonly string[]>();

  it.each(plans)(
    'misses and invents no deposit, unlike a naive scanner (seed $seed, $name)',
    async (plan) => {
      const findings = await runTruth(plan);
      occurred.set(
        plan.seed,
        findings.injectedFaults.flatMap((injected) => Object.keys(injected)),
      );
      expectReorganised(findings);
      expectLogFaults(findings);
      expect(findings.naive.missed).toBeGreaterThanOrEqual(100);
      expect(findings.naive.invented).toBeGreaterThanOrEqual(15);
    },
    TEST_TIMEOUT_MS,
  );

  it('injects every fault and limit of the sources in these runs', () => {
    expect([...occurred.keys()]).toEqual(plans.map(({ seed }) => seed));
    const every = [...Object.keys(FAULTS), 'rangeCap', 'resultCap'];
    expect([...new Set([...occurred.values()].flat())].toSorted()).toEqual(every.toSorted());
  });

  it(
    'misses and invents no deposit while one of two sources is down',
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
    'misses and invents no deposit with a single source, reading receipts',
    async () => {
      const plan = { seed: 7, name: 'one source', blocks: 120, reorgs: 6, sources: 1 } as const;
      expectReorganised(await runTruth(plan), { deposits: 400, orphanings: 1 });
    },
    TEST_TIMEOUT_MS,
  );
});

/** Trusts the logs of one source and requests no receipts. */
function withTrustedLogs(reader: ChainReader): ChainReader {
  return {
    ...reader,
    readVerified: (from, to, _expected, options) => reader.readSeen(from, to, options),
    async confirmTransfers(candidates, options = {}) {
      const { confirmed, refuted, headers = [] } = await reader.confirmTransfers(candidates, options);
      const have = new Set([...(options.headers ?? []), ...headers].map(({ height }) => height));
      const wanted = new Set(
        refuted.map(({ blockHeight }) => blockHeight).filter((height) => !have.has(height)),
      );
      const read = await Promise.all([...wanted].map((height) => reader.headers(height, height, options)));
      const believed = refuted.map((candidate): Transfer => ({
        ...candidate,
        chain: reader.chain,
        position: `log:${candidate.indexInBlock}` as TransferPosition,
        feeBaseUnits: 0n as BaseUnits,
      }));
      return { confirmed: [...confirmed, ...believed], refuted: [], headers: [...headers, ...read.flat()] };
    },
  };
}

describe('control runs with a disabled check', () => {
  const SHORT = { blocks: 80, reorgs: 4 } as const;

  it(
    'finds missed and invented deposits when logs of one source are trusted',
    async () => {
      const findings = await runTruth({
        ...SHORT,
        seed: 8,
        name: 'control: logs believed',
        sources: 1,
        faults: { droppedLog: 0.5, inventedLog: 0.8 },
        crippled: withTrustedLogs,
      });
      expect(findings.settled).toBe(true);
      expect(findings.missed.length).toBeGreaterThan(0);
      expect(findings.invented.length).toBeGreaterThan(0);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'finds deposits verified too early when reorganisations exceed the depth',
    async () => {
      const findings = await runTruth({
        // With only four reorganisations it is chance if one is deeper than the verified height.
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
