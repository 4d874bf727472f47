import type { NetworkConfig } from '@opentill/contracts/network-config';
import { createCannedChain } from '../canned/chains.ts';
import { cannedNetwork, networkOn, startCannedNode } from '../canned/network.ts';
import type { BlockFacts } from '../canned/plan.ts';
import { networksOf, type BenchFamily } from '../families/family.ts';
import { mostResidentMegabytes, processorMs } from '../processes.ts';
import type { Benchmark } from '../report.ts';
import {
  fillDepositAddresses,
  forgetChains,
  placeCursor,
  startScannerProcess,
  verifiedHeight,
  type ScannerProcess,
} from '../scanner.ts';
import { numberOf, withServers, type BenchServers } from '../servers.ts';
import { median, round } from '../statistics.ts';
import { until } from '../wait.ts';

interface World {
  readonly blocks: number;
  readonly genesis: BlockFacts;
  networkWith(sources: number): NetworkConfig;
  stop(): Promise<void>;
}

const TRANSACTIONS_PER_BLOCK = 200;
const BLOCKS_PER_DEPOSIT = 5;
const POLL_MS = 20;
/** Lists TRX as a token, so that the scanner also reads its transfers. */
const TRX = {
  symbol: 'TRX',
  contract: null,
  decimals: 6,
  displayDecimals: 2,
  minAmount: null,
  maxAmount: null,
};
/** The heap limits that V8 chooses in a container of 256 MiB. */
const HEAP_LIMITS = ['--max-old-space-size=128', '--max-semi-space-size=1'];

export const catchUp =
  (family: BenchFamily): Benchmark =>
  ({ say, quick, addresses = quick ? 1_000 : 1_000_000 }) =>
    withServers(say, async (servers) => {
      const [rounds, blocks] = quick ? [1, 100] : [3, 1_000];
      say(`${addresses} deposit addresses, ${blocks} blocks of ${TRANSACTIONS_PER_BLOCK} transactions`);
      await fillDepositAddresses(servers, family, addresses);
      const world = await startWorld(family, blocks, TRANSACTIONS_PER_BLOCK);
      const scanner = startScannerProcess(family.family, servers);
      try {
        const rows: number[][] = [];
        for (let number = 0; number <= rounds; number += 1) {
          const row = [
            await runScanner(servers, world, scanner, 2),
            await runScanner(servers, world, scanner, 1),
          ];
          if (number > 0) rows.push(row.flat()); // the first round warms the compiler
          say(row.join(' '));
        }
        const medians = [0, 1, 2, 3].map((place) => median(rows.map((row) => row[place] ?? Number.NaN)));
        return [
          {
            title: `Catching up with ${addresses.toLocaleString('en')} deposit addresses; ms of processor time`,
            columns: [
              'round',
              'two sources, blocks/s',
              'ms per block',
              'one source, blocks/s',
              'ms per block',
            ],
            rows: [...rows.map((row, place) => [place + 1, ...row]), ['median', ...medians]],
          },
        ];
      } finally {
        await scanner.end();
        await world.stop();
      }
    });

/** Compares normal blocks with blocks ten times as large. */
export const scannerMemory =
  (family: BenchFamily): Benchmark =>
  ({ say, quick }) =>
    withServers(say, async (servers) => {
      await fillDepositAddresses(servers, family, 1_000);
      const rows = [];
      for (const [transactions, blocks] of quick
        ? [[200, 60] as const]
        : [[200, 600] as const, [2_000, 60] as const]) {
        const world = await startWorld(family, blocks, transactions);
        for (const sources of [1, 2]) {
          const scanner = startScannerProcess(family.family, servers, HEAP_LIMITS);
          try {
            await runScanner(servers, world, scanner, sources);
            rows.push([transactions, blocks, sources, mostResidentMegabytes(scanner.pid)]);
          } finally {
            await scanner.end();
          }
          say(JSON.stringify(rows.at(-1)));
        }
        await world.stop();
      }
      return [
        {
          title: `The most resident memory of a scanner that catches up, with ${HEAP_LIMITS.join(' ')}`,
          columns: ['transactions per block', 'blocks', 'sources', 'MB'],
          rows,
        },
      ];
    });

async function startWorld(family: BenchFamily, blocks: number, transactions: number): Promise<World> {
  const configured = (await networksOf('mainnet.json')).find(({ chain }) => chain === family.mainnet);
  if (configured === undefined) throw new Error(`mainnet.json has no ${family.mainnet}`);
  const traffic = {
    transfersPerBlock: Math.round(transactions * family.tokenShare),
    otherTransactions: Math.round(transactions * (1 - family.tokenShare)),
    blocksPerDeposit: BLOCKS_PER_DEPOSIT,
  };
  const canned = cannedNetwork(family, configured, traffic, {
    firstHeight: blocks + family.depth,
    blockEveryMs: 0,
    finalityLagBlocks: family.depth,
    finalityStepBlocks: 1,
  });
  const node = await startCannedNode([canned]);
  const tokens = [...configured.tokens, ...(family.family === 'TRON' ? [TRX] : [])];
  const network = networkOn({ ...configured, tokens }, canned, node.urls[canned.name] ?? []);
  return {
    blocks,
    genesis: createCannedChain(canned.plan).facts(0),
    networkWith: (sources) => ({ ...network, rpcUrls: network.rpcUrls.slice(0, sources) }),
    stop: () => node.stop(),
  };
}

/** Runs until the last block is verified. @returns blocks/s, ms of processor time per block */
async function runScanner(
  servers: BenchServers,
  { blocks, genesis, networkWith }: World,
  scanner: ScannerProcess,
  sources: number,
): Promise<readonly [number, number]> {
  const network = networkWith(sources);
  await forgetChains(servers);
  await placeCursor(servers, network, genesis);
  const before = processorMs(scanner.pid);
  const startedAt = performance.now();
  await scanner.start([network]);
  const isDone = async (): Promise<boolean> => (await verifiedHeight(servers, network)) >= blocks;
  await Promise.race([until('the scanner has caught up', isDone, POLL_MS), scanner.died]);
  const seconds = (performance.now() - startedAt) / 1_000;
  const msPerBlock = (processorMs(scanner.pid) - before) / blocks;
  await scanner.stop();
  const found = await numberOf(servers.admin, `select count(*) n from transfer where state = 'VERIFIED'`);
  const expected = Math.floor(blocks / BLOCKS_PER_DEPOSIT);
  if (found !== expected) throw new Error(`the scanner found ${found} of ${expected} deposits`);
  return [round(blocks / seconds, 0), round(msPerBlock)];
}
