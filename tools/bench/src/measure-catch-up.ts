import type { NetworkConfig } from '@opentill/contracts/network-config';
import { bareCatchUp, bareCatchUpByReceipts } from './bare-catch-up.ts';
import { cannedDepositAddress, createCannedChain, type CannedChainPlan } from './canned-chain.ts';
import { median, round2 } from './median.ts';
import { ratiosOver, runBare, runScanner, type CatchUpRun, type ScannerWay } from './run-catch-up.ts';
import type { ScanDatabase } from './scan-database.ts';
import type { CannedNetwork } from './canned-node.ts';
import { startCannedNode, type CannedNode } from './start-canned-node.ts';

/** Each side on its own, one after another. */
export interface CatchUpRound {
  /** Blocks and logs from one source. */
  readonly bare: CatchUpRun;
  /** Blocks and logs from two, as the scanner reads, which believes the logs of no source alone. */
  readonly bareTwice: CatchUpRun;
  /** Blocks and receipts from one. */
  readonly bareReceipts: CatchUpRun;
  readonly twoSources: CatchUpRun;
  /** By receipts, each block's held against the bloom of its header. */
  readonly oneSource: CatchUpRun;
}

/** Rounds with so many deposit addresses in the table. Ratios are medians over the rounds. */
export interface CatchUpFigures {
  readonly depositAddresses: number;
  readonly rounds: readonly CatchUpRound[];
  /** Blocks per second of the scanner against those of the bare loop that reads the same. */
  readonly twoSourcesToSame: number;
  readonly oneSourceToSame: number;
  /** The same ratios by processor time, which others on the machine change less: bare / scanner. */
  readonly twoSourcesToSameByProcessor: number;
  readonly oneSourceToSameByProcessor: number;
  /** Blocks per second against the bare loop that believes the logs of one source. */
  readonly twoSourcesToBare: number;
  readonly oneSourceToBare: number;
}

export interface CatchUpComparison {
  readonly blocks: number;
  /** Blocks that are read by receipts. */
  readonly blocksByReceipts: number;
  readonly transfersPerBlock: number;
  readonly figures: readonly CatchUpFigures[];
  /** Blocks per second with the most addresses / with the fewest, each against the bare loop of its own rounds. */
  readonly mostToFewestAddresses: number;
}

const CHAIN = 'ETH_SEPOLIA';
const CHAIN_ID = 11_155_111;
const BLOCKS = 3_000;
/** Fewer: their receipts are made beforehand and kept by the node, 0.3 MB a block. */
const BLOCKS_BY_RECEIPTS = 1_000;
const ROUNDS = 3;
const TRANSFERS_PER_BLOCK = 200;
const BLOCKS_PER_DEPOSIT = 5;
const OURS = 50;
const CONFIRMATIONS = 12;
const DECIMALS = 6;

const PLAN: CannedChainPlan = {
  seed: 'catch-up',
  tokens: ['0xdac17f958d2ee523a2206206994597c13d831ec7', '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'],
  transfersPerBlock: TRANSFERS_PER_BLOCK,
  otherTransactions: 0,
  ours: Array.from({ length: OURS }, (_, i) => cannedDepositAddress(i + 1)),
  blocksPerDeposit: BLOCKS_PER_DEPOSIT,
  startSeconds: 1_790_000_000,
  blockTimeMs: 450,
  keepsReceipts: true,
};

/** Measures the scanner that catches up, and the bare loops, in turns, with tables of growing size. */
export async function measureCatchUp(
  database: ScanDatabase,
  brokerUrl: string,
  addressCounts: readonly number[],
  say: (line: string) => void,
): Promise<CatchUpComparison> {
  say(`making ${BLOCKS} blocks of ${TRANSFERS_PER_BLOCK} transfers`);
  const node = await startCannedNode([
    cannedNetwork('long', BLOCKS),
    cannedNetwork('short', BLOCKS_BY_RECEIPTS),
  ]);
  try {
    const sides = sidesOf(database, brokerUrl, node);
    const figures: CatchUpFigures[] = [];
    for (const depositAddresses of addressCounts) {
      say(`filling in ${depositAddresses} deposit addresses`);
      await database.fillDepositAddresses(depositAddresses, 'EVM');
      for (const side of [sides.bare, sides.bareReceipts, sides.twoSources, sides.oneSource]) await side(); // warm
      const rounds: CatchUpRound[] = [];
      for (let i = 0; i < ROUNDS; i += 1) {
        rounds.push({
          bare: await sides.bare(),
          bareTwice: await sides.bareTwice(),
          twoSources: await sides.twoSources(),
          bareReceipts: await sides.bareReceipts(),
          oneSource: await sides.oneSource(),
        });
        say(`round ${i + 1} with ${depositAddresses} addresses: ${JSON.stringify(rounds.at(-1))}`);
      }
      figures.push(figuresOf(depositAddresses, rounds));
    }
    const speed = (figuresWith: CatchUpFigures | undefined): number =>
      median(
        (figuresWith?.rounds ?? []).map(
          ({ twoSources, bareTwice }) => twoSources.blocksPerSecond / bareTwice.blocksPerSecond,
        ),
      );
    return {
      blocks: BLOCKS,
      blocksByReceipts: BLOCKS_BY_RECEIPTS,
      transfersPerBlock: TRANSFERS_PER_BLOCK,
      figures,
      mostToFewestAddresses: round2(speed(figures.at(-1)) / speed(figures[0])),
    };
  } finally {
    await node.stop();
  }
}

function cannedNetwork(name: string, blocks: number): CannedNetwork {
  return {
    name,
    chainId: CHAIN_ID,
    decimals: DECIMALS,
    chain: PLAN,
    sources: 2,
    firstHeight: blocks + CONFIRMATIONS - 1,
    blockEveryMs: 0,
    finalityLagBlocks: 0,
    finalityStepBlocks: 1,
  };
}

type Sides = Readonly<Record<keyof CatchUpRound, () => Promise<CatchUpRun>>>;

function sidesOf(database: ScanDatabase, brokerUrl: string, { urls }: CannedNode): Sides {
  const [long = [], short = []] = [urls['long'], urls['short']];
  const genesis = createCannedChain(PLAN).facts(0);
  const catchUp = (rpcUrls: readonly string[], blocks: number) => (): Promise<CatchUpRun> =>
    runScanner({ ...wayOf(blocks), database, brokerUrl, network: networkOf(rpcUrls), genesis });
  return {
    bare: () => bareOnce(bareCatchUp, long.slice(0, 1), BLOCKS),
    bareTwice: () => bareOnce(bareCatchUp, long, BLOCKS),
    bareReceipts: () => bareOnce(bareCatchUpByReceipts, short.slice(0, 1), BLOCKS_BY_RECEIPTS),
    twoSources: catchUp(long, BLOCKS),
    oneSource: catchUp(short.slice(0, 1), BLOCKS_BY_RECEIPTS),
  };
}

function figuresOf(depositAddresses: number, rounds: readonly CatchUpRound[]): CatchUpFigures {
  const { bySpeed, byProcessor } = ratiosOver(rounds);
  return {
    depositAddresses,
    rounds,
    twoSourcesToSame: bySpeed('twoSources', 'bareTwice'),
    oneSourceToSame: bySpeed('oneSource', 'bareReceipts'),
    twoSourcesToSameByProcessor: byProcessor('twoSources', 'bareTwice'),
    oneSourceToSameByProcessor: byProcessor('oneSource', 'bareReceipts'),
    twoSourcesToBare: bySpeed('twoSources', 'bare'),
    oneSourceToBare: bySpeed('oneSource', 'bare'),
  };
}

const wayOf = (blocks: number): Pick<ScannerWay, 'lastHeight' | 'deposits'> => ({
  lastHeight: blocks,
  deposits: Math.floor(blocks / BLOCKS_PER_DEPOSIT),
});

function bareOnce(loop: typeof bareCatchUp, urls: readonly string[], blocks: number): Promise<CatchUpRun> {
  const ours = new Set(PLAN.ours);
  const options = {
    urls,
    tokens: PLAN.tokens,
    isOurs: (address: string) => ours.has(address),
    from: 1,
    to: blocks,
  };
  return runBare(wayOf(blocks), () => loop(options));
}

function networkOf(rpcUrls: readonly string[]): ScannerWay['network'] {
  const token = { decimals: DECIMALS, displayDecimals: 2, minAmount: null, maxAmount: null };
  return {
    chain: CHAIN,
    family: 'EVM',
    enabled: true,
    chainId: CHAIN_ID,
    name: 'canned',
    rpcUrls,
    nativeSymbol: 'ETH',
    nativeDecimals: 18,
    confirmations: CONFIRMATIONS,
    blockTimeMs: PLAN.blockTimeMs,
    pollIntervalMs: 1_000,
    reorgWindow: 256,
    maxBlockRange: 100,
    bloom: true,
    tokens: PLAN.tokens.map((contract, i) => ({ symbol: i === 0 ? 'USDT' : 'USDC', contract, ...token })),
  } satisfies NetworkConfig;
}
