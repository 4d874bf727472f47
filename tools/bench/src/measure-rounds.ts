import type { CannedBlockFacts } from './canned-chain.ts';
import { ratiosOver, runBare, runScanner, type CatchUpRun, type ScannerWay } from './run-catch-up.ts';
import type { ScanDatabase } from './scan-database.ts';

/** Each side on its own, one after another: bare loops and scanners, with one source and with two. */
export interface PairedCatchUpRound {
  readonly bare: CatchUpRun;
  readonly bareTwice: CatchUpRun;
  readonly oneSource: CatchUpRun;
  readonly twoSources: CatchUpRun;
}

/** Rounds with so many deposit addresses in the table. Ratios are medians over the rounds. */
export interface PairedCatchUpFigures {
  readonly depositAddresses: number;
  readonly blocks: number;
  readonly rounds: readonly PairedCatchUpRound[];
  /** Blocks per second of the scanner against those of the bare loop that reads the same. */
  readonly twoSourcesToSame: number;
  readonly oneSourceToSame: number;
  /** The same ratios by processor time: bare / scanner. */
  readonly twoSourcesToSameByProcessor: number;
  readonly oneSourceToSameByProcessor: number;
}

/** A canned chain that is caught up with. */
export interface CaughtUpChain {
  readonly family: 'TRON' | 'SUI';
  /** Of its two sources. */
  readonly urls: readonly string[];
  readonly blocks: number;
  readonly blocksPerDeposit: number;
  readonly genesis: CannedBlockFacts;
  readonly networkOf: (urls: readonly string[]) => ScannerWay['network'];
  /** Reads all blocks, and gives the number of deposits. */
  readonly readBarely: (urls: readonly string[]) => Promise<number>;
}

export interface CatchUpBench {
  readonly database: ScanDatabase;
  readonly brokerUrl: string;
  readonly depositAddresses: number;
  readonly say: (line: string) => void;
}

const ROUNDS = 3;

/** Measures the scanner that catches up with a chain, and the bare loops, in turns, with so many deposit addresses. */
export async function measureRounds(
  bench: CatchUpBench,
  chain: CaughtUpChain,
): Promise<PairedCatchUpFigures> {
  const { database, depositAddresses, say } = bench;
  const { family, blocks } = chain;
  say(`filling in ${depositAddresses} deposit addresses of ${family}`);
  await database.fillDepositAddresses(depositAddresses, family);
  const sides = sidesOf(bench, chain);
  for (const side of Object.values(sides)) await side(); // warm
  const rounds: PairedCatchUpRound[] = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    rounds.push({
      bareTwice: await sides.bareTwice(),
      twoSources: await sides.twoSources(),
      bare: await sides.bare(),
      oneSource: await sides.oneSource(),
    });
    say(`${family}, round ${i + 1}: ${JSON.stringify(rounds.at(-1))}`);
  }
  const { bySpeed, byProcessor } = ratiosOver(rounds);
  return {
    depositAddresses,
    blocks,
    rounds,
    twoSourcesToSame: bySpeed('twoSources', 'bareTwice'),
    oneSourceToSame: bySpeed('oneSource', 'bare'),
    twoSourcesToSameByProcessor: byProcessor('twoSources', 'bareTwice'),
    oneSourceToSameByProcessor: byProcessor('oneSource', 'bare'),
  };
}

function sidesOf(
  { database, brokerUrl }: CatchUpBench,
  { urls, blocks, blocksPerDeposit, genesis, networkOf, readBarely }: CaughtUpChain,
): Readonly<Record<keyof PairedCatchUpRound, () => Promise<CatchUpRun>>> {
  const way = { lastHeight: blocks, deposits: Math.floor(blocks / blocksPerDeposit) };
  const bare = (own: readonly string[]) => (): Promise<CatchUpRun> => runBare(way, () => readBarely(own));
  const scanner = (own: readonly string[]) => (): Promise<CatchUpRun> =>
    runScanner({ ...way, database, brokerUrl, network: networkOf(own), genesis });
  return {
    bare: bare(urls.slice(0, 1)),
    bareTwice: bare(urls),
    oneSource: scanner(urls.slice(0, 1)),
    twoSources: scanner(urls),
  };
}
