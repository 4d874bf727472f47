import type { NetworkConfig } from '@opentill/contracts/network-config';
import { cannedNetwork, networkOn, startCannedNode, type Traffic } from '../canned/network.ts';
import type { CannedNetwork, SourceCount } from '../canned/node.ts';
import { networksOf, type BenchFamily } from '../families/family.ts';
import type { Benchmark } from '../report.ts';
import { fillDepositAddresses, forgetChains, startScannerProcess, verifiedHeight } from '../scanner.ts';
import { withServers, type BenchServers } from '../servers.ts';
import { round } from '../statistics.ts';
import { sleep } from '../wait.ts';

/** Per block: token transfers and other transactions. `finalized` trails the head by `finalityLag`, in steps. */
type BlocksOf = readonly [transfers: number, others: number, finalityLag: number, finalityStep: number];

/** Averages of the main networks, from public statistics. */
const BLOCKS: Readonly<Record<string, BlocksOf>> = {
  ETH: [120, 80, 64, 32],
  BSC: [65, 60, 3, 1],
  POLYGON: [30, 70, 4, 1],
  AVAX_C_CHAIN: [5, 15, 4, 1],
  ETH_SEPOLIA: [5, 100, 64, 32],
  BSC_TEST: [2, 20, 3, 1],
  POLYGON_AMOY: [1, 20, 4, 1],
  AVAX_FUJI_TEST: [1, 3, 4, 1],
  TRON: [120, 80, 18, 1],
};
/** Alchemy's compute units (docs/compute-unit-costs). Unlisted calls are free there. */
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
const FIRST_HEIGHT = 300;
const WARM_UP_MS = 10_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** TRON providers close idle connections after this time. Each new connection costs one call that checks the chain. */
const TRON_KEEP_ALIVE_MS = 65_000;

interface Followed {
  readonly network: NetworkConfig;
  readonly canned: CannedNetwork;
}

/** Uses shipped settings, two endpoints, a deposit per minute, heads by polling and real block times. */
export const rpcCost =
  (family: BenchFamily): Benchmark =>
  ({ say, quick, minutes = quick ? 0.25 : 10 }) =>
    withServers(say, async (servers) => {
      const files = await Promise.all([networksOf('mainnet.json'), networksOf('testnet.json')]);
      // TRON's test network would give the same figures.
      const shipped = files.flat().filter((one) => one.family === family.family && one.chain !== 'TRON_TEST');
      await fillDepositAddresses(servers, family, 1_000);
      const rows = [];
      for (const pollIntervalMs of family.family === 'TRON' ? [3_000, 6_000] : [undefined]) {
        const networks = shipped.map((one) =>
          pollIntervalMs === undefined ? one : { ...one, pollIntervalMs },
        );
        say(`following ${networks.map(({ chain }) => chain).join(', ')} for ${minutes} minutes`);
        rows.push(...(await follow(servers, family, networks, minutes)));
      }
      return [
        {
          title: `Calls and bytes a day, counted for ${minutes} minutes; bytes with HTTP, without TLS and compression`,
          columns: [
            'network',
            'block s',
            'poll s',
            'transfers/block',
            'calls',
            'HTTP requests, each endpoint',
            'MB up, each',
            'MB down, each',
            'compute units',
          ],
          rows,
        },
      ];
    });

async function follow(
  servers: BenchServers,
  family: BenchFamily,
  networks: readonly NetworkConfig[],
  minutes: number,
): Promise<readonly (readonly (string | number)[])[]> {
  await forgetChains(servers);
  const followed = networks.map((network) => ({ network, canned: cannedOf(family, network) }));
  const node = await startCannedNode(followed.map(({ canned }) => canned));
  const scanner = startScannerProcess(family.family, servers);
  try {
    await scanner.start(
      followed.map(({ network, canned }) => networkOn(network, canned, node.urls[network.chain] ?? [])),
    );
    await Promise.race([sleep(WARM_UP_MS), scanner.died]);
    await node.takeCounts();
    const startedAt = performance.now();
    await Promise.race([sleep(minutes * MINUTE_MS), scanner.died]);
    const counts = await node.takeCounts();
    const days = (performance.now() - startedAt) / DAY_MS;
    for (const one of followed)
      await requireFollowed(servers, one, counts[one.network.chain]?.[0]?.head ?? 0);
    return networks.map((network) => rowOf(network, counts[network.chain] ?? [], days));
  } finally {
    await scanner.end();
    await node.stop();
  }
}

function cannedOf(family: BenchFamily, network: NetworkConfig): CannedNetwork {
  const [transfersPerBlock, otherTransactions, finalityLagBlocks, finalityStepBlocks] = blocksOf(network);
  const blocksPerDeposit = Math.max(1, Math.round(MINUTE_MS / network.blockTimeMs));
  const traffic: Traffic = { transfersPerBlock, otherTransactions, blocksPerDeposit };
  return cannedNetwork(family, network, traffic, {
    firstHeight: FIRST_HEIGHT,
    blockEveryMs: network.blockTimeMs,
    finalityLagBlocks,
    finalityStepBlocks,
    ...(family.family === 'TRON' ? { keepAliveMs: TRON_KEEP_ALIVE_MS } : {}),
  });
}

function blocksOf({ chain }: NetworkConfig): BlocksOf {
  const blocks = BLOCKS[chain];
  if (blocks === undefined) throw new Error(`rpc-cost.ts: BLOCKS has no ${chain}. Add its blocks.`);
  return blocks;
}

/** Throws if the scanner fell behind, because it then sent too few calls. */
async function requireFollowed(servers: BenchServers, { network }: Followed, head: number): Promise<void> {
  const [, , lag, step] = blocksOf(network);
  const { confirmations, finality, pollIntervalMs, blockTimeMs } = network;
  const depth = confirmations === 'finalized' ? Math.max(lag + step, finality?.minDepth ?? 0) : confirmations;
  const mayLag = 12 + Math.ceil((2 * pollIntervalMs) / blockTimeMs);
  const verified = await verifiedHeight(servers, network);
  if (head - verified > depth + mayLag)
    throw new Error(`the scanner did not follow ${network.chain}: head ${head}, verified ${verified}`);
}

function rowOf(
  network: NetworkConfig,
  sources: readonly SourceCount[],
  days: number,
): readonly (string | number)[] {
  const perDay = (count: number): string => Math.round(count / days).toLocaleString('en');
  const megabytes = (bytes: number): string => round(bytes / days / 1e6, 1).toLocaleString('en');
  const each = (of: (source: SourceCount) => string): string => sources.map(of).join('; ');
  const calls = new Map<string, number>();
  for (const source of sources)
    for (const [name, count] of Object.entries(source.calls)) calls.set(name, (calls.get(name) ?? 0) + count);
  const units = [...calls].reduce((sum, [name, count]) => sum + count * (COMPUTE_UNITS[name] ?? 0), 0);
  return [
    network.chain,
    network.blockTimeMs / 1_000,
    network.pollIntervalMs / 1_000,
    blocksOf(network)[0],
    [...calls].map(([name, count]) => `${name.replace('eth_', '')} ${perDay(count)}`).join(', '),
    each(({ requests }) => perDay(requests)),
    each(({ bytesIn }) => megabytes(bytesIn)),
    each(({ bytesOut }) => megabytes(bytesOut)),
    units === 0 ? '' : perDay(units),
  ];
}
