import type { NetworkConfig } from '@opentill/contracts/network-config';
import { bareSuiCatchUp } from './bare-sui-catch-up.ts';
import { cannedSuiDeposit, createCannedSuiChain, type CannedSuiPlan } from './canned-sui-chain.ts';
import type { CannedSuiNetwork } from './canned-sui-node.ts';
import { measureRounds, type CatchUpBench, type PairedCatchUpFigures } from './measure-rounds.ts';
import type { ScannerWay } from './run-catch-up.ts';
import { startCannedNode } from './start-canned-node.ts';

/** See PairedCatchUpFigures. */
export interface SuiCatchUpFigures extends PairedCatchUpFigures {
  readonly transactionsPerBlock: number;
}

const BLOCKS = 1_000;
const DECIMALS = 6;
const OURS = 50;
const BLOCKS_PER_DEPOSIT = 5;

const PLAN: CannedSuiPlan = {
  seed: 'catch-up',
  coinTypes: [`0x${'a1'.repeat(32)}::usdc::USDC`, `0x${'b2'.repeat(32)}::usdt::USDT`],
  paymentsPerCheckpoint: 200,
  ours: Array.from({ length: OURS }, (_, i) => cannedSuiDeposit(i + 1)),
  checkpointsPerDeposit: BLOCKS_PER_DEPOSIT,
  startMs: 1_790_000_000_000,
  blockTimeMs: 250,
};

/**
 * Everybody reads checkpoints with all balance changes: bare loops a hundred at once, scanners ten, for which their memory has room;
 * see measureRounds.
 */
export async function measureSuiCatchUp(bench: CatchUpBench): Promise<SuiCatchUpFigures> {
  bench.say(`making ${BLOCKS} checkpoints of SUI with ${PLAN.paymentsPerCheckpoint} payments`);
  const network: CannedSuiNetwork = {
    name: 'sui',
    sources: 2,
    decimals: DECIMALS,
    chain: PLAN,
    headHeight: BLOCKS,
  };
  const node = await startCannedNode([network], 'canned-sui-node');
  try {
    const ours = new Set(PLAN.ours);
    const isOurs = (address: string): boolean => ours.has(address);
    const chain = createCannedSuiChain(PLAN);
    const figures = await measureRounds(bench, {
      family: 'SUI',
      urls: node.urls['sui'] ?? [],
      blocks: BLOCKS,
      blocksPerDeposit: BLOCKS_PER_DEPOSIT,
      genesis: chain.facts(0),
      networkOf: (urls) => networkOf(urls, chain.genesisId),
      readBarely: (urls) => bareSuiCatchUp({ urls, coinTypes: PLAN.coinTypes, isOurs, from: 1, to: BLOCKS }),
    });
    return { ...figures, transactionsPerBlock: PLAN.paymentsPerCheckpoint };
  } finally {
    await node.stop();
  }
}

/** As deploy/networks/mainnet.json has it. */
function networkOf(rpcUrls: readonly string[], genesisId: string): ScannerWay['network'] {
  const token = { decimals: DECIMALS, displayDecimals: 2, minAmount: null, maxAmount: null };
  return {
    chain: 'SUI_TEST',
    family: 'SUI',
    enabled: true,
    genesisId,
    name: 'canned',
    rpcUrls,
    nativeSymbol: 'SUI',
    nativeDecimals: 9,
    confirmations: 'finalized',
    finality: { staleSeconds: 60 },
    blockTimeMs: PLAN.blockTimeMs,
    pollIntervalMs: 1_000,
    reorgWindow: 64,
    maxBlockRange: 100,
    tokens: PLAN.coinTypes.map((contract, i) => ({ symbol: i === 0 ? 'USDC' : 'USDT', contract, ...token })),
  } satisfies NetworkConfig;
}
