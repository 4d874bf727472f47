import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { connectBroker } from '@opentill/messaging/connection';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import { startScanner } from '@opentill/scanner-tron/app';
import { shortHexOf } from '@opentill/chain-tron/address-codec';
import type { Address } from '@opentill/chain/address-codec';
import { cannedTronDepositHex, createCannedTronChain, type CannedTronPlan } from './canned-tron-chain.ts';
import type { CannedTronNetwork } from './canned-tron-node.ts';
import type { ScanDatabase } from './scan-database.ts';
import type { CannedCounters } from './serve-canned.ts';
import { startCannedNode } from './start-canned-node.ts';

/** What following TRON costs in a day with one poll interval. */
export interface TronRpcCost {
  readonly pollIntervalMs: number;
  readonly blocksPerDay: number;
  readonly measuredMinutes: number;
  /** Of each endpoint, in the order of the configuration. */
  readonly sources: readonly {
    readonly requestsPerDay: number;
    readonly callsPerDay: Readonly<Record<string, number>>;
    /** HTTP included, without TLS and uncompressed. */
    readonly megabytesDownPerDay: number;
  }[];
}

export interface TronRpcCostFigures {
  readonly method: string;
  readonly costs: readonly TronRpcCost[];
}

const NETWORKS = join(import.meta.dirname, '..', '..', '..', 'deploy', 'networks');
const SOURCES = 2;
const SOLID_LAG_BLOCKS = 18;
const FIRST_HEIGHT = 40;
/** As providers' gateways do: each new connection costs a question for the chain. */
const KEEP_ALIVE_MS = 65_000;
const WARM_UP_MS = 10_000;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Time is this much faster where no duration is asked for. */
const SPEED = 4;
const MEASURE_MS = 45_000;
/** The shipped one, and one that fits into more plans. */
const POLL_INTERVALS_MS = [3_000, 6_000];
/** One deposit a minute. */
const BLOCKS_PER_DEPOSIT = 20;
const DEPOSIT_ADDRESSES = 1_000;
const MAY_LAG_BLOCKS = 12;

/**
 * Counts the requests of the scanner that follows TRON with the shipped settings, for each poll interval, and scales them to a day.
 * `minutes`: so long at TRON's own pace; without it a short time at a quicker one.
 */
export async function measureTronRpcCost(
  database: ScanDatabase,
  brokerUrl: string,
  say: (line: string) => void,
  minutes?: number,
): Promise<TronRpcCostFigures> {
  const file = join(NETWORKS, 'mainnet.json');
  const networks = parseNetworkFile(await readFile(file, 'utf8'), 'mainnet.json');
  const network = networks.find(({ chain }) => chain === 'TRON');
  if (network === undefined) throw new Error('mainnet.json has no TRON');
  await database.fillDepositAddresses(DEPOSIT_ADDRESSES, 'TRON');
  const speed = minutes === undefined ? SPEED : 1;
  const measureMs = minutes === undefined ? MEASURE_MS : minutes * MINUTE_MS;
  const costs: TronRpcCost[] = [];
  for (const pollIntervalMs of POLL_INTERVALS_MS) {
    say(`counting what TRON asks for during ${measureMs / 1_000} s, polled every ${pollIntervalMs} ms`);
    costs.push(await follow({ database, brokerUrl, measureMs, speed }, { ...network, pollIntervalMs }));
  }
  const pace =
    minutes === undefined ? `${SPEED} times as fast as life` : `at its own pace for ${minutes} minutes`;
  const method = `The scanner with the settings of mainnet.json, two endpoints, one deposit a minute, ${pace}; requests counted at the node are scaled to a day.`;
  return { method, costs };
}

interface Pace {
  readonly database: ScanDatabase;
  readonly brokerUrl: string;
  readonly measureMs: number;
  readonly speed: number;
}

async function follow(
  { database, brokerUrl, measureMs, speed }: Pace,
  network: NetworkConfig,
): Promise<TronRpcCost> {
  await database.forgetChains();
  const plan = planOf(network);
  const description: CannedTronNetwork = {
    name: 'tron',
    sources: SOURCES,
    keepAliveMs: KEEP_ALIVE_MS,
    decimals: network.tokens[0]?.decimals ?? 0,
    chain: plan,
    headHeight: FIRST_HEIGHT,
    blockEveryMs: network.blockTimeMs / speed,
    solidLagBlocks: SOLID_LAG_BLOCKS,
  };
  const node = await startCannedNode([description], 'canned-tron-node');
  const logger = createLogger({ service: 'scanner-tron', level: 'error' });
  const pool = database.openAsScanner('TRON');
  const broker = connectBroker({ url: brokerUrl, logger, name: 'bench scanner' });
  const failures: unknown[] = [];
  const app = startScanner({
    db: pool.kysely,
    broker,
    logger,
    metrics: createMetrics('scanner-tron'),
    clock: systemClock,
    newId,
    networks: [
      {
        ...network,
        enabled: true,
        genesisId: createCannedTronChain(plan).genesisId,
        rpcUrls: node.urls['tron'] ?? [],
        blockTimeMs: network.blockTimeMs / speed,
        pollIntervalMs: network.pollIntervalMs / speed,
      },
    ],
    instanceId: 'bench',
    fail: (error) => failures.push(error),
  });
  try {
    await pause(WARM_UP_MS);
    await node.takeCounters();
    const startedAt = performance.now();
    await pause(measureMs);
    const counted = (await node.takeCounters())['tron'] ?? [];
    const days = ((performance.now() - startedAt) * speed) / DAY_MS;
    if (failures.length > 0) throw failures[0];
    const head = counted[0]?.head ?? 0;
    const verified = await database.verifiedHeight(network.chain);
    if (head - verified > SOLID_LAG_BLOCKS + MAY_LAG_BLOCKS)
      throw new Error(`TRON was not followed: head ${head}, verified ${verified}`);
    return costOf(network, counted, days);
  } finally {
    await app.stop();
    await broker.close();
    await pool.close();
    await node.stop();
  }
}

/** As many transactions as a block of the main network has. */
function planOf({ tokens, blockTimeMs }: NetworkConfig): CannedTronPlan {
  return {
    seed: 'rpc-cost',
    tokens: tokens.flatMap(({ contract }) => (contract === null ? [] : [shortHexOf(contract as Address)])),
    tokenTransfersPerBlock: 120,
    trxTransfersPerBlock: 80,
    ours: Array.from({ length: DEPOSIT_ADDRESSES }, (_, place) => cannedTronDepositHex(place + 1)),
    blocksPerDeposit: BLOCKS_PER_DEPOSIT,
    startMs: Date.now() - FIRST_HEIGHT * blockTimeMs,
    blockTimeMs,
  };
}

function costOf(network: NetworkConfig, counted: readonly CannedCounters[], days: number): TronRpcCost {
  const perDay = (count: number): number => Math.round(count / days);
  return {
    pollIntervalMs: network.pollIntervalMs,
    blocksPerDay: DAY_MS / network.blockTimeMs,
    measuredMinutes: Math.round((days * DAY_MS) / 6_000) / 10,
    sources: counted.map(({ requests, calls, bytesOut }) => ({
      requestsPerDay: perDay(requests),
      callsPerDay: Object.fromEntries(
        Object.entries(calls).map(([method, count]) => [method, perDay(count)]),
      ),
      megabytesDownPerDay: Math.round(bytesOut / days / 1e5) / 10,
    })),
  };
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}
