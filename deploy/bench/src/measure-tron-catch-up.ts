import { addressOfShortHex } from '@opentill/chain-tron/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { bareTronCatchUp } from './bare-tron-catch-up.ts';
import { cannedTronDepositHex, createCannedTronChain, type CannedTronPlan } from './canned-tron-chain.ts';
import type { CannedTronNetwork } from './canned-tron-node.ts';
import { median, round2 } from './median.ts';
import { runBare, runScanner, type CatchUpRun, type ScannerWay } from './run-catch-up.ts';
import type { ScanDatabase } from './scan-database.ts';
import { startCannedNode } from './start-canned-node.ts';

/** Each side on its own, one after another. Everybody reads blocks whole, with all receipts. */
export interface TronCatchUpRound {
  readonly bare: CatchUpRun;
  readonly bareTwice: CatchUpRun;
  readonly oneSource: CatchUpRun;
  readonly twoSources: CatchUpRun;
}

/** Rounds with so many deposit addresses in the table. Ratios are medians over the rounds. */
export interface TronCatchUpFigures {
  readonly depositAddresses: number;
  readonly blocks: number;
  readonly tokenTransfersPerBlock: number;
  readonly trxTransfersPerBlock: number;
  readonly rounds: readonly TronCatchUpRound[];
  /** Blocks per second of the scanner against those of the bare loop that reads the same. */
  readonly twoSourcesToSame: number;
  readonly oneSourceToSame: number;
  /** The same ratios by processor time: bare / scanner. */
  readonly twoSourcesToSameByProcessor: number;
  readonly oneSourceToSameByProcessor: number;
}

const BLOCKS = 1_000;
const ROUNDS = 3;
const DECIMALS = 6;
const SOLID_LAG_BLOCKS = 18;
const OURS = 50;
const BLOCKS_PER_DEPOSIT = 5;

const PLAN: CannedTronPlan = {
  seed: 'catch-up',
  tokens: ['a614f803b6fd780986a42c78ec9c7f77e6ded13c', '3487b63d30b5b2c87fb7ffa8bcfade38eaac1abe'],
  tokenTransfersPerBlock: 120,
  trxTransfersPerBlock: 80,
  ours: Array.from({ length: OURS }, (_, i) => cannedTronDepositHex(i + 1)),
  blocksPerDeposit: BLOCKS_PER_DEPOSIT,
  startMs: 1_790_000_000_000,
  blockTimeMs: 3_000,
};

/** Measures the scanner that catches up on TRON, and the bare loops, in turns, with so many deposit addresses. */
export async function measureTronCatchUp(
  database: ScanDatabase,
  brokerUrl: string,
  depositAddresses: number,
  say: (line: string) => void,
): Promise<TronCatchUpFigures> {
  say(
    `making ${BLOCKS} blocks of TRON with ${PLAN.tokenTransfersPerBlock + PLAN.trxTransfersPerBlock} transactions`,
  );
  const network: CannedTronNetwork = {
    name: 'tron',
    sources: 2,
    decimals: DECIMALS,
    chain: PLAN,
    headHeight: BLOCKS + SOLID_LAG_BLOCKS,
    solidLagBlocks: SOLID_LAG_BLOCKS,
  };
  const node = await startCannedNode([network], 'canned-tron-node');
  try {
    say(`filling in ${depositAddresses} deposit addresses of TRON`);
    await database.fillDepositAddresses(depositAddresses, 'TRON');
    const sides = sidesOf(database, brokerUrl, node.urls['tron'] ?? []);
    for (const side of Object.values(sides)) await side(); // warm
    const rounds: TronCatchUpRound[] = [];
    for (let i = 0; i < ROUNDS; i += 1) {
      rounds.push({
        bareTwice: await sides.bareTwice(),
        twoSources: await sides.twoSources(),
        bare: await sides.bare(),
        oneSource: await sides.oneSource(),
      });
      say(`TRON, round ${i + 1}: ${JSON.stringify(rounds.at(-1))}`);
    }
    return figuresOf(depositAddresses, rounds);
  } finally {
    await node.stop();
  }
}

function sidesOf(
  database: ScanDatabase,
  brokerUrl: string,
  urls: readonly string[],
): Readonly<Record<keyof TronCatchUpRound, () => Promise<CatchUpRun>>> {
  const ours = new Set(PLAN.ours);
  const chain = createCannedTronChain(PLAN);
  const way = { lastHeight: BLOCKS, deposits: Math.floor(BLOCKS / BLOCKS_PER_DEPOSIT) };
  const bare = (own: readonly string[]) => (): Promise<CatchUpRun> =>
    runBare(way, () =>
      bareTronCatchUp({
        urls: own,
        tokens: PLAN.tokens,
        isOurs: (address) => ours.has(address),
        from: 1,
        to: BLOCKS,
      }),
    );
  const scanner = (rpcUrls: readonly string[]) => (): Promise<CatchUpRun> =>
    runScanner({
      ...way,
      database,
      brokerUrl,
      network: networkOf(rpcUrls, chain.genesisId),
      genesis: chain.facts(0),
    });
  return {
    bare: bare(urls.slice(0, 1)),
    bareTwice: bare(urls),
    oneSource: scanner(urls.slice(0, 1)),
    twoSources: scanner(urls),
  };
}

function figuresOf(depositAddresses: number, rounds: readonly TronCatchUpRound[]): TronCatchUpFigures {
  const bySpeed = (side: keyof TronCatchUpRound, to: keyof TronCatchUpRound): number =>
    round2(median(rounds.map((r) => r[side].blocksPerSecond / r[to].blocksPerSecond)));
  const byProcessor = (side: keyof TronCatchUpRound, to: keyof TronCatchUpRound): number =>
    round2(median(rounds.map((r) => r[to].processorMsPerBlock / r[side].processorMsPerBlock)));
  return {
    depositAddresses,
    blocks: BLOCKS,
    tokenTransfersPerBlock: PLAN.tokenTransfersPerBlock,
    trxTransfersPerBlock: PLAN.trxTransfersPerBlock,
    rounds,
    twoSourcesToSame: bySpeed('twoSources', 'bareTwice'),
    oneSourceToSame: bySpeed('oneSource', 'bare'),
    twoSourcesToSameByProcessor: byProcessor('twoSources', 'bareTwice'),
    oneSourceToSameByProcessor: byProcessor('oneSource', 'bare'),
  };
}

/** As deploy/networks/mainnet.json has it, and with TRX besides. */
function networkOf(rpcUrls: readonly string[], genesisId: string): ScannerWay['network'] {
  const token = { decimals: DECIMALS, displayDecimals: 2, minAmount: null, maxAmount: null };
  return {
    chain: 'TRON_TEST',
    family: 'TRON',
    enabled: true,
    genesisId,
    name: 'canned',
    rpcUrls,
    nativeSymbol: 'TRX',
    nativeDecimals: 6,
    confirmations: 'finalized',
    finality: { staleSeconds: 180 },
    blockTimeMs: PLAN.blockTimeMs,
    pollIntervalMs: 3_000,
    reorgWindow: 256,
    maxBlockRange: 16,
    tokens: [
      ...PLAN.tokens.map((contract, i) => ({
        symbol: i === 0 ? 'USDT' : 'USDC',
        contract: addressOfShortHex(contract) ?? '',
        ...token,
      })),
      { symbol: 'TRX', contract: null, ...token },
    ],
  } satisfies NetworkConfig;
}
