import type { NetworkConfig } from '@opentill/contracts/network-config';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import type { CannedBlockFacts } from './canned-chain.ts';
import { median, round2 } from './median.ts';
import type { ScanDatabase } from './scan-database.ts';
import { SCANNERS, type ScannedFamily } from './scanners.ts';

/** One way over all blocks. */
export interface CatchUpRun {
  readonly blocksPerSecond: number;
  /** Processor time of the process that reads, without that of the node and of Postgres. */
  readonly processorMsPerBlock: number;
  /** The most resident memory of that process, in MB (10^6 bytes); what ran in it before counts as well. */
  readonly megabytesMax?: number;
}

/** A way for the scanner. */
export interface ScannerWay {
  readonly database: ScanDatabase;
  readonly brokerUrl: string;
  readonly network: NetworkConfig & { readonly family: ScannedFamily };
  /** Where the cursor begins. */
  readonly genesis: CannedBlockFacts;
  /** It ends when this one is verified. */
  readonly lastHeight: number;
  /** What it must find on the way. */
  readonly deposits: number;
}

/** How one side of a round did beside another: medians over the rounds. More than 1: `side` was the faster. */
export interface CatchUpRatios<Side extends string> {
  /** By blocks per second. */
  bySpeed(side: Side, to: Side): number;
  /** By processor time a block, which others on the machine change less. */
  byProcessor(side: Side, to: Side): number;
}

/** Ratios over rounds in which each side ran once. */
export function ratiosOver<Side extends string>(
  rounds: readonly Readonly<Record<Side, CatchUpRun>>[],
): CatchUpRatios<Side> {
  const over = (ratio: (round: Readonly<Record<Side, CatchUpRun>>) => number): number =>
    round2(median(rounds.map(ratio)));
  return {
    bySpeed: (side, to) => over((round) => round[side].blocksPerSecond / round[to].blocksPerSecond),
    byProcessor: (side, to) =>
      over((round) => round[to].processorMsPerBlock / round[side].processorMsPerBlock),
  };
}

const DEADLINE_MS = 300_000;
const POLL_MS = 20;

/** Starts the clocks; the function that stops them. */
export function startRun(blocks: number): () => CatchUpRun {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  return () => {
    const seconds = (performance.now() - startedAt) / 1_000;
    const { user, system } = process.cpuUsage(before);
    return {
      blocksPerSecond: round2(blocks / seconds),
      processorMsPerBlock: round2((user + system) / 1_000 / blocks),
    };
  };
}

/** Times a bare loop, which gives the number of deposits that it found. */
export async function runBare(
  way: Pick<ScannerWay, 'lastHeight' | 'deposits'>,
  loop: () => Promise<number>,
): Promise<CatchUpRun> {
  const finish = startRun(way.lastHeight);
  const found = await loop();
  const run = finish();
  requireDeposits('bare loop', found, way.deposits);
  return run;
}

/** Times the scanner: from the start of the service until the last block is verified. */
export async function runScanner(way: ScannerWay): Promise<CatchUpRun> {
  const { database, brokerUrl, network, genesis, lastHeight } = way;
  const { chain, family } = network;
  await database.forgetChains();
  await database.placeCursor(network, genesis);
  const { start, service } = SCANNERS[family];
  const logger = createLogger({ service, level: 'error' });
  const pool = database.openAsScanner(family);
  const broker = connectBroker({ url: brokerUrl, logger, name: 'bench scanner' });
  const failures: unknown[] = [];
  const startedAt = performance.now();
  const finish = startRun(lastHeight);
  let bytesMax = 0;
  const app = start({
    db: pool.kysely,
    broker,
    logger,
    metrics: createMetrics(service),
    clock: systemClock,
    newId,
    networks: [network],
    instanceId: 'bench',
    fail: (error) => failures.push(error),
  });
  try {
    while ((await database.verifiedHeight(chain)) < lastHeight) {
      if (failures.length > 0) throw failures[0];
      if (performance.now() - startedAt > DEADLINE_MS)
        throw new Error('the scanner did not catch up in time');
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      bytesMax = Math.max(bytesMax, process.memoryUsage.rss());
    }
    const run = { ...finish(), megabytesMax: Math.round(bytesMax / 1e6) };
    requireDeposits('scanner', await database.verifiedTransfers(), way.deposits);
    return run;
  } finally {
    await app.stop();
    await broker.close();
    await pool.close();
  }
}

/** A catch-up that misses something is not one. */
function requireDeposits(who: string, found: number, expected: number): void {
  if (found !== expected) throw new Error(`the ${who} found ${found} of ${expected} deposits`);
}
