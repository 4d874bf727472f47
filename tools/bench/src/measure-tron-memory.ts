import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createCannedTronChain, type CannedTronPlan } from './canned-tron-chain.ts';
import type { CannedTronNetwork } from './canned-tron-node.ts';
import { BLOCKS_PER_DEPOSIT, DECIMALS, networkOf, PLAN, SOLID_LAG_BLOCKS } from './measure-tron-catch-up.ts';
import { mostResidentMegabytes } from './read-memory.ts';
import type { ScanDatabase } from './scan-database.ts';
import { startCannedNode } from './start-canned-node.ts';

/** The most that a scanner's process had in memory while it caught up. */
export interface TronMemory {
  readonly transactionsPerBlock: number;
  readonly blocks: number;
  readonly sources: number;
  /** Resident, 10^6 bytes. */
  readonly megabytesMost: number;
}

/** Half, and five times, what a block of the main network has; together as much JSON as the node can hold. */
const SIZES = [
  { transactions: 200, blocks: 600 },
  { transactions: 2_000, blocks: 60 },
] as const;
const SOURCES = [1, 2] as const;
const TOKEN_SHARE = 0.6;
/** What V8 takes for itself in a container of 256 MiB, and less: its heap could grow to 259 MiB there. */
const HEAP_LIMITS = ['--max-old-space-size=128', '--max-semi-space-size=1'];
const DEADLINE_MS = 120_000;
const LOOK_MS = 50;

/** Measures the scanner as a process of its own, with a heap as in a small container. */
export async function measureTronMemory(
  database: ScanDatabase,
  brokerUrl: string,
  say: (line: string) => void,
): Promise<readonly TronMemory[]> {
  await database.fillDepositAddresses(PLAN.ours.length, 'TRON');
  const figures: TronMemory[] = [];
  for (const { transactions, blocks } of SIZES) {
    const chain: CannedTronPlan = {
      ...PLAN,
      tokenTransfersPerBlock: transactions * TOKEN_SHARE,
      trxTransfersPerBlock: transactions * (1 - TOKEN_SHARE),
    };
    const network: CannedTronNetwork = {
      name: 'tron',
      sources: Math.max(...SOURCES),
      decimals: DECIMALS,
      chain,
      headHeight: blocks + SOLID_LAG_BLOCKS,
      blockEveryMs: 0,
      solidLagBlocks: SOLID_LAG_BLOCKS,
    };
    const node = await startCannedNode([network], 'canned-tron-node');
    try {
      for (const sources of SOURCES) {
        const urls = (node.urls['tron'] ?? []).slice(0, sources);
        const megabytesMost = await catchUpApart({ database, brokerUrl, chain, blocks, urls });
        figures.push({ transactionsPerBlock: transactions, blocks, sources, megabytesMost });
        say(JSON.stringify(figures.at(-1)));
      }
    } finally {
      await node.stop();
    }
  }
  return figures;
}

interface Apart {
  readonly database: ScanDatabase;
  readonly brokerUrl: string;
  readonly chain: CannedTronPlan;
  readonly blocks: number;
  readonly urls: readonly string[];
}

/** The most that the process has had when it has verified all blocks. */
async function catchUpApart({ database, brokerUrl, chain, blocks, urls }: Apart): Promise<number> {
  const { genesisId, facts } = createCannedTronChain(chain);
  const network = { ...networkOf(urls, genesisId), explorerTxUrl: 'https://explorer.example/{txid}' };
  await database.forgetChains();
  await database.placeCursor(network, facts(0));
  const directory = await mkdtemp(join(tmpdir(), 'opentill-bench-memory-'));
  const networksFile = join(directory, 'networks.json');
  await writeFile(networksFile, JSON.stringify({ networks: [network] }));
  const main = fileURLToPath(import.meta.resolve('@opentill/scanner-tron/main'));
  const child = spawn(process.execPath, [...process.execArgv, ...HEAP_LIMITS, main], {
    env: {
      DATABASE_URL: database.scannerUrl('TRON'),
      AMQP_URL: brokerUrl,
      NETWORKS_FILE: networksFile,
      HEALTH_PORT: '0',
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const exited = once(child, 'exit');
  try {
    await untilVerified(database, network.chain, blocks, child);
    const most = mostResidentMegabytes(child.pid ?? 0);
    const found = await database.verifiedTransfers();
    if (found !== Math.floor(blocks / BLOCKS_PER_DEPOSIT))
      throw new Error(`the scanner found ${found} deposits in ${blocks} blocks`);
    return most;
  } finally {
    child.kill('SIGTERM');
    await exited;
    await rm(directory, { recursive: true, force: true });
  }
}

async function untilVerified(
  database: ScanDatabase,
  chain: string,
  height: number,
  child: ChildProcess,
): Promise<void> {
  const startedAt = performance.now();
  while ((await database.verifiedHeight(chain)) < height) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`the scanner ended with ${child.exitCode ?? child.signalCode}`);
    if (performance.now() - startedAt > DEADLINE_MS) throw new Error('the scanner did not catch up in time');
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
