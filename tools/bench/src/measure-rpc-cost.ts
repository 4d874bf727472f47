import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { startScanner } from '@opentill/scanner-evm/app';
import { cannedDepositAddress } from './canned-chain.ts';
import type { CannedNetwork } from './canned-node.ts';
import type { CannedCounters } from './serve-canned.ts';
import { trafficOf } from './network-traffic.ts';
import type { ScanDatabase } from './scan-database.ts';
import { startCannedNode } from './start-canned-node.ts';

/** What following one network costs in a day. */
export interface RpcCost {
  readonly chain: string;
  readonly blockTimeMs: number;
  readonly pollIntervalMs: number;
  readonly transfersPerBlock: number;
  /** Chain time that was measured, and how much faster than life it ran. */
  readonly measuredMinutes: number;
  readonly speed: number;
  readonly blocksPerDay: number;
  /** Of both sources together. */
  readonly callsPerDay: Readonly<Record<string, number>>;
  readonly sources: readonly RpcSourceCost[];
  /** By Alchemy's price list, both sources together. */
  readonly computeUnitsPerDay: number;
}

export interface RpcSourceCost {
  readonly httpRequestsPerDay: number;
  readonly callsPerDay: number;
  /** Sent to the source, and received from it; HTTP included, without TLS and uncompressed. */
  readonly megabytesUpPerDay: number;
  readonly megabytesDownPerDay: number;
}

export interface RpcCostFigures {
  readonly method: string;
  readonly networks: readonly RpcCost[];
}

/** How long is measured, and how fast a network's time goes. */
interface Pace {
  readonly measureMs: number;
  speedOf(network: NetworkConfig): number;
}

/** Alchemy's compute units (docs/compute-unit-costs); what is not listed costs nothing there. */
const COMPUTE_UNITS: Readonly<Record<string, number>> = {
  eth_blockNumber: 10,
  eth_getBlockByNumber: 20,
  eth_getBlockByHash: 20,
  eth_getTransactionReceipt: 20,
  eth_getLogs: 60,
  eth_getBlockReceipts: 20,
  eth_call: 26,
  eth_getCode: 20,
};

const NETWORKS = join(import.meta.dirname, '..', '..', '..', 'deploy', 'networks');
const SOURCES = 2;
const FIRST_HEIGHT = 300;
const WARM_UP_MS = 10_000;
const MEASURE_MS = 120_000;
const DAY_MS = 86_400_000;
/** One deposit a minute, as far as blocks allow. */
const DEPOSIT_EVERY_MS = 60_000;
const LOOK_EVERY_MS = 250;
const MINUTE_MS = 60_000;

function paceOf(minutes: number | undefined): Pace {
  return minutes === undefined
    ? { measureMs: MEASURE_MS, speedOf: (network) => trafficOf(network).speed }
    : { measureMs: minutes * MINUTE_MS, speedOf: () => 1 };
}

function methodOf(minutes: number | undefined): string {
  const pace =
    minutes === undefined
      ? 'Block and poll intervals are shortened by the same factor (speed)'
      : `Every network at its own pace for ${minutes} minutes`;
  return (
    'The scanner with the shipped settings of every network at once, two sources each, heads by polling alone, one ' +
    `deposit a minute. ${pace}; calls and bytes counted at the node are scaled to a day of chain time. Bytes are ` +
    'those of HTTP without TLS and compression.'
  );
}

/**
 * Counts calls and bytes of all networks in the shipped files, and scales them to a day. `minutes`: so long at the
 * networks' own pace; without it two minutes at a quicker one.
 */
export async function measureRpcCost(
  database: ScanDatabase,
  brokerUrl: string,
  say: (line: string) => void,
  minutes?: number,
): Promise<RpcCostFigures> {
  const pace = paceOf(minutes);
  const files = await Promise.all(
    ['mainnet.json', 'testnet.json'].map(async (file) =>
      parseNetworkFile(await readFile(join(NETWORKS, file), 'utf8'), file),
    ),
  );
  const networks = files.flat().filter((network) => network.family === 'EVM');
  await database.forgetChains();
  await database.fillDepositAddresses(1_000, 'EVM');
  const node = await startCannedNode(
    networks.map((network) => cannedNetworkOf(network, pace.speedOf(network))),
  );
  const logger = createLogger({ service: 'scanner-evm', level: 'error' });
  const pool = database.openAsScanner('EVM');
  const broker = connectBroker({ url: brokerUrl, logger, name: 'bench scanner' });
  const failures: unknown[] = [];
  const app = startScanner({
    db: pool.kysely,
    broker,
    logger,
    metrics: createMetrics('scanner-evm'),
    clock: systemClock,
    newId,
    networks: networks.map((network) =>
      quickened(network, pace.speedOf(network), node.urls[network.chain] ?? []),
    ),
    instanceId: 'bench',
    fail: (error) => failures.push(error),
  });
  try {
    say(`counting what ${networks.length} networks ask for during ${pace.measureMs / 1_000} s`);
    await pause(WARM_UP_MS);
    const before = await node.takeCounters();
    const startedAt = performance.now();
    while (failures.length === 0 && performance.now() - startedAt < pace.measureMs)
      await pause(LOOK_EVERY_MS);
    const after = await node.takeCounters();
    if (failures.length > 0) throw failures[0];
    const tookMs = performance.now() - startedAt;
    await requireFollowed(database, networks, after, pace);
    return {
      method: methodOf(minutes),
      networks: networks.map((network) => {
        const counted = { before: before[network.chain] ?? [], after: after[network.chain] ?? [] };
        return costOf(network, tookMs * pace.speedOf(network), pace.speedOf(network), counted);
      }),
    };
  } finally {
    await app.stop();
    await broker.close();
    await pool.close();
    await node.stop();
  }
}

function cannedNetworkOf(network: NetworkConfig, speed: number): CannedNetwork {
  const { transfersPerBlock, otherTransactions, finalityLagBlocks, finalityStepBlocks } = trafficOf(network);
  const { blockTimeMs, chain, chainId = 0 } = network;
  const tokens = network.tokens.flatMap(({ contract }) =>
    contract === null ? [] : [contract.toLowerCase()],
  );
  return {
    name: chain,
    chainId,
    decimals: network.tokens[0]?.decimals ?? 0,
    sources: SOURCES,
    firstHeight: FIRST_HEIGHT,
    blockEveryMs: blockTimeMs / speed,
    finalityLagBlocks,
    finalityStepBlocks,
    chain: {
      seed: chain,
      tokens,
      transfersPerBlock,
      otherTransactions,
      ours: Array.from({ length: 100 }, (_, i) => cannedDepositAddress(i + 1)),
      blocksPerDeposit: Math.max(1, Math.round(DEPOSIT_EVERY_MS / blockTimeMs)),
      startSeconds: Math.floor((Date.now() - FIRST_HEIGHT * blockTimeMs) / 1_000),
      blockTimeMs,
    },
  };
}

/** The shipped settings, before the canned node, faster by the network's factor. */
function quickened(network: NetworkConfig, speed: number, rpcUrls: readonly string[]): NetworkConfig {
  const { wsUrl: _, ...polled } = network;
  return {
    ...polled,
    enabled: true,
    rpcUrls,
    blockTimeMs: network.blockTimeMs / speed,
    pollIntervalMs: network.pollIntervalMs / speed,
  };
}

/** A scanner that fell behind, or stood still, asked for too little. */
async function requireFollowed(
  { admin }: ScanDatabase,
  networks: readonly NetworkConfig[],
  counters: Readonly<Record<string, readonly CannedCounters[]>>,
  pace: Pace,
): Promise<void> {
  const { rows } = await admin.query<{ chain: string; seen: string; verified: string }>(
    'select chain, seen_height as seen, verified_height as verified from chain_cursor',
  );
  for (const network of networks) {
    const row = rows.find(({ chain }) => chain === network.chain);
    const head = counters[network.chain]?.[0]?.head ?? 0;
    const { finalityLagBlocks, finalityStepBlocks } = trafficOf(network);
    const depth =
      network.confirmations === 'finalized'
        ? Math.max(finalityLagBlocks + finalityStepBlocks, network.finality?.minDepth ?? 0)
        : network.confirmations;
    const mayLag = 10 + Math.ceil((2 * network.pollIntervalMs) / network.blockTimeMs) + pace.speedOf(network);
    if (row === undefined || head - Number(row.verified) > depth + mayLag)
      throw new Error(`${network.chain} was not followed: head ${head}, ${JSON.stringify(row)}`);
  }
}

function costOf(
  network: NetworkConfig,
  chainMs: number,
  speed: number,
  {
    before,
    after,
  }: { readonly before: readonly CannedCounters[]; readonly after: readonly CannedCounters[] },
): RpcCost {
  const { transfersPerBlock } = trafficOf(network);
  const days = chainMs / DAY_MS;
  const perDay = (count: number): number => Math.round(count / days);
  const megabytes = (bytes: number): number => Math.round(bytes / days / 1e5) / 10;
  const calls: Record<string, number> = {};
  for (const source of after)
    for (const [method, count] of Object.entries(source.calls)) calls[method] = (calls[method] ?? 0) + count;
  const units = Object.entries(calls).reduce(
    (sum, [method, count]) => sum + count * (COMPUTE_UNITS[method] ?? 0),
    0,
  );
  return {
    chain: network.chain,
    blockTimeMs: network.blockTimeMs,
    pollIntervalMs: network.pollIntervalMs,
    transfersPerBlock,
    measuredMinutes: Math.round(chainMs / 6_000) / 10,
    speed,
    blocksPerDay: perDay((after[0]?.head ?? 0) - (before[0]?.head ?? 0)),
    callsPerDay: Object.fromEntries(Object.entries(calls).map(([method, count]) => [method, perDay(count)])),
    sources: after.map((source) => ({
      httpRequestsPerDay: perDay(source.requests),
      callsPerDay: perDay(Object.values(source.calls).reduce((sum, count) => sum + count, 0)),
      megabytesUpPerDay: megabytes(source.bytesIn),
      megabytesDownPerDay: megabytes(source.bytesOut),
    })),
    computeUnitsPerDay: perDay(units),
  };
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
