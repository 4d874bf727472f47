import { addressOfShortHex } from '@opentill/chain-tron/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { bareTronCatchUp } from './bare-tron-catch-up.ts';
import { cannedTronDepositHex, createCannedTronChain, type CannedTronPlan } from './canned-tron-chain.ts';
import type { CannedTronNetwork } from './canned-tron-node.ts';
import { measureRounds, type CatchUpBench, type PairedCatchUpFigures } from './measure-rounds.ts';
import type { ScannerWay } from './run-catch-up.ts';
import { startCannedNode } from './start-canned-node.ts';

/** See PairedCatchUpFigures. */
export interface TronCatchUpFigures extends PairedCatchUpFigures {
  readonly tokenTransfersPerBlock: number;
  readonly trxTransfersPerBlock: number;
}

const BLOCKS = 1_000;
export const DECIMALS = 6;
export const SOLID_LAG_BLOCKS = 18;
const OURS = 50;
export const BLOCKS_PER_DEPOSIT = 5;

/** Blocks of half the main network's transactions. */
export const PLAN: CannedTronPlan = {
  seed: 'catch-up',
  tokens: ['a614f803b6fd780986a42c78ec9c7f77e6ded13c', '3487b63d30b5b2c87fb7ffa8bcfade38eaac1abe'],
  tokenTransfersPerBlock: 120,
  trxTransfersPerBlock: 80,
  ours: Array.from({ length: OURS }, (_, i) => cannedTronDepositHex(i + 1)),
  blocksPerDeposit: BLOCKS_PER_DEPOSIT,
  startMs: 1_790_000_000_000,
  blockTimeMs: 3_000,
};

/** Everybody reads blocks whole, with all receipts; see measureRounds. */
export async function measureTronCatchUp(bench: CatchUpBench): Promise<TronCatchUpFigures> {
  const { tokenTransfersPerBlock, trxTransfersPerBlock } = PLAN;
  bench.say(
    `making ${BLOCKS} blocks of TRON with ${tokenTransfersPerBlock + trxTransfersPerBlock} transactions`,
  );
  const network: CannedTronNetwork = {
    name: 'tron',
    sources: 2,
    decimals: DECIMALS,
    chain: PLAN,
    headHeight: BLOCKS + SOLID_LAG_BLOCKS,
    blockEveryMs: 0,
    solidLagBlocks: SOLID_LAG_BLOCKS,
  };
  const node = await startCannedNode([network], 'canned-tron-node');
  try {
    const ours = new Set(PLAN.ours);
    const isOurs = (address: string): boolean => ours.has(address);
    const chain = createCannedTronChain(PLAN);
    const figures = await measureRounds(bench, {
      family: 'TRON',
      urls: node.urls['tron'] ?? [],
      blocks: BLOCKS,
      blocksPerDeposit: BLOCKS_PER_DEPOSIT,
      genesis: chain.facts(0),
      networkOf: (urls) => networkOf(urls, chain.genesisId),
      readBarely: (urls) => bareTronCatchUp({ urls, tokens: PLAN.tokens, isOurs, from: 1, to: BLOCKS }),
    });
    return { ...figures, tokenTransfersPerBlock, trxTransfersPerBlock };
  } finally {
    await node.stop();
  }
}

/** As deploy/networks/mainnet.json has it, and with TRX besides. */
export function networkOf(rpcUrls: readonly string[], genesisId: string): ScannerWay['network'] {
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
