import { restIntervalMsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import { cannedNetwork, networkOn, startCannedNode, type Traffic } from '../canned/network.ts';
import type { CannedNetwork, SourceCount } from '../canned/node.ts';
import { networksOf, type BenchFamily } from '../families/family.ts';
import { processorMs } from '../processes.ts';
import type { Benchmark } from '../report.ts';
import {
  fillDepositAddresses,
  forgetChains,
  openOrders,
  startScannerProcess,
  verifiedHeight,
} from '../scanner.ts';
import { costsOf, UNITS } from '../price-lists.ts';
import { withServers, type BenchServers } from '../servers.ts';
import { depositsADay, openShare } from '../simulate-day.ts';
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
  SUI: [50, 0, 0, 1],
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

/** An open order, and deposits per day on each network. */
interface Activity {
  readonly isOrderOpen: boolean;
  readonly depositsADay: number;
}

const RESTING: Activity = { isOrderOpen: false, depositsADay: 0 };
const BUSY: Activity = { isOrderOpen: true, depositsADay: DAY_MS / MINUTE_MS };

/** Traffic of a day, of each source. */
type Counted = readonly SourceCount[];

/**
 * Uses shipped settings, two endpoints, heads by polling (SUI: by subscription) and real block times. With
 * `ordersADay`, the day of such a shop: the share of its day with an open order costs as much as BUSY with its deposits,
 * the rest as much as RESTING. Payouts and sweeps are not included.
 */
export const rpcCost =
  (family: BenchFamily): Benchmark =>
  ({ say, quick, ordersADay, minutes = quick ? 0.25 : 10 }) =>
    withServers(say, async (servers) => {
      const files = await Promise.all([networksOf('mainnet.json'), networksOf('testnet.json')]);
      // Test networks of TRON and SUI would give the same figures.
      const shipped = files.flat().filter((one) => one.family === family.family && BLOCKS[one.chain]);
      await fillDepositAddresses(servers, family, 1_000);
      const measure = (networks: readonly NetworkConfig[], activity: Activity) => {
        const state = activity.isOrderOpen ? `${activity.depositsADay} deposits a day` : 'without orders';
        say(`following ${networks.map(({ chain }) => chain).join(', ')} for ${minutes} minutes, ${state}`);
        return follow(servers, family, networks, { say, minutes, ...activity });
      };
      const rows: Row[] = [];
      if (ordersADay.length === 0) {
        for (const pollIntervalMs of family.family === 'TRON' ? [3_000, 6_000] : [undefined]) {
          const paced = shipped.map((one) =>
            pollIntervalMs === undefined ? one : { ...one, pollIntervalMs },
          );
          const days = await measure(paced, BUSY);
          rows.push(...paced.map((network) => rowOf(network, 'an order is open', days[network.chain] ?? [])));
        }
      } else {
        const resting = await measure(shipped, RESTING);
        rows.push(...shipped.map((one) => rowOf(one, 'no order', resting[one.chain] ?? [])));
        for (const orders of ordersADay) {
          const busy = await measure(shipped, { ...BUSY, depositsADay: depositsADay(orders) });
          for (const network of shipped) {
            const share = openShare(orders, finalMinutes(network));
            const mixed = mix(share, busy[network.chain] ?? [], resting[network.chain] ?? []);
            const profile = `${orders.toLocaleString('en')} orders, open ${round(100 * share, 1)} % of the day`;
            rows.push(rowOf(network, profile, mixed));
          }
        }
      }
      return [
        {
          title: `Calls and bytes a day, counted for ${minutes} minutes; bytes with HTTP, without TLS and compression`,
          columns: [
            'network',
            'block s',
            'poll s',
            'profile',
            'transfers/block',
            'calls',
            'HTTP requests, each endpoint',
            'MB up, each',
            'MB down, each',
            ...(family.family === 'EVM' ? UNITS : []),
          ],
          rows,
        },
      ];
    });

async function follow(
  servers: BenchServers,
  family: BenchFamily,
  networks: readonly NetworkConfig[],
  {
    say,
    minutes,
    isOrderOpen,
    depositsADay: deposits,
  }: Activity & {
    readonly minutes: number;
    readonly say: (line: string) => void;
  },
): Promise<Readonly<Record<string, Counted>>> {
  await forgetChains(servers);
  await openOrders(servers, isOrderOpen ? networks : []);
  const followed = networks.map((network) => ({ network, canned: cannedOf(family, network, deposits) }));
  const node = await startCannedNode(followed.map(({ canned }) => canned));
  const scanner = startScannerProcess(family.family, servers);
  try {
    await scanner.start(
      followed.map(({ network, canned }) => networkOn(network, canned, node.urls[network.chain] ?? [])),
    );
    const restMs = isOrderOpen ? 0 : Math.max(...networks.map(restIntervalMsOf));
    await Promise.race([sleep(WARM_UP_MS + restMs), scanner.died]);
    await node.takeCounts();
    const usedMs = processorMs(scanner.pid);
    const startedAt = performance.now();
    await Promise.race([sleep(minutes * MINUTE_MS), scanner.died]);
    const counts = await node.takeCounts();
    const passedMs = performance.now() - startedAt;
    const days = passedMs / DAY_MS;
    const share = (processorMs(scanner.pid) - usedMs) / passedMs;
    say(`the scanner took ${round(100 * share, 2)} % of a core`);
    for (const one of followed)
      await requireFollowed(servers, one, counts[one.network.chain]?.[0]?.head ?? 0);
    return Object.fromEntries(
      Object.entries(counts).map(([chain, sources]) => [chain, scale(sources, 1 / days)]),
    );
  } finally {
    await scanner.end();
    await node.stop();
  }
}

function cannedOf(family: BenchFamily, network: NetworkConfig, deposits: number): CannedNetwork {
  const [transfersPerBlock, otherTransactions, finalityLagBlocks, finalityStepBlocks] = blocksOf(network);
  const blocks = deposits === 0 ? Number.MAX_SAFE_INTEGER : DAY_MS / deposits / network.blockTimeMs;
  const traffic: Traffic = {
    transfersPerBlock,
    otherTransactions,
    blocksPerDeposit: blocks < 1 ? blocks : Math.round(blocks),
  };
  return cannedNetwork(family, network, traffic, {
    firstHeight: FIRST_HEIGHT,
    blockEveryMs: network.blockTimeMs,
    finalityLagBlocks,
    finalityStepBlocks,
    ...(family.family === 'TRON' ? { keepAliveMs: TRON_KEEP_ALIVE_MS } : {}),
  });
}

function scale(sources: Counted, factor: number): Counted {
  return sources.map(({ calls, requests, bytesIn, bytesOut, head }) => ({
    calls: Object.fromEntries(Object.entries(calls).map(([name, count]) => [name, count * factor])),
    requests: requests * factor,
    bytesIn: bytesIn * factor,
    bytesOut: bytesOut * factor,
    head,
  }));
}

function mix(share: number, busy: Counted, resting: Counted): Counted {
  const [ours, theirs] = [scale(busy, share), scale(resting, 1 - share)];
  return ours.map((source, place) => {
    const other = theirs[place] ?? source;
    const calls = { ...other.calls };
    for (const [name, count] of Object.entries(source.calls)) calls[name] = (calls[name] ?? 0) + count;
    return {
      calls,
      requests: source.requests + other.requests,
      bytesIn: source.bytesIn + other.bytesIn,
      bytesOut: source.bytesOut + other.bytesOut,
      head: source.head,
    };
  });
}

function depthOf({ chain, confirmations, finality }: NetworkConfig): number {
  const [, , lag, step] = blocksOf({ chain });
  return confirmations === 'finalized' ? Math.max(lag + step, finality?.minDepth ?? 0) : confirmations;
}

function finalMinutes(network: NetworkConfig): number {
  return (depthOf(network) * network.blockTimeMs + network.pollIntervalMs) / MINUTE_MS;
}

function blocksOf({ chain }: Pick<NetworkConfig, 'chain'>): BlocksOf {
  const blocks = BLOCKS[chain];
  if (blocks === undefined) throw new Error(`rpc-cost.ts: BLOCKS has no ${chain}. Add its blocks.`);
  return blocks;
}

/** Throws if the scanner fell behind, because it then sent too few calls. */
async function requireFollowed(servers: BenchServers, { network }: Followed, head: number): Promise<void> {
  // Blocks that no payment waits for are verified once per rest.
  const mayLag = 12 + Math.ceil((2 * restIntervalMsOf(network)) / network.blockTimeMs);
  const verified = await verifiedHeight(servers, network);
  if (head - verified > depthOf(network) + mayLag)
    throw new Error(`the scanner did not follow ${network.chain}: head ${head}, verified ${verified}`);
}

type Row = readonly (string | number)[];

function rowOf(network: NetworkConfig, profile: string, sources: Counted): Row {
  const whole = (count: number): string => Math.round(count).toLocaleString('en');
  const megabytes = (bytes: number): string => round(bytes / 1e6, 1).toLocaleString('en');
  const each = (of: (source: SourceCount) => string): string => sources.map(of).join('; ');
  const costs = network.family === 'EVM' ? costsOf(sources).map(whole) : [];
  const calls = new Map<string, number>();
  for (const source of sources)
    for (const [name, count] of Object.entries(source.calls)) calls.set(name, (calls.get(name) ?? 0) + count);
  return [
    network.chain,
    network.blockTimeMs / 1_000,
    network.pollIntervalMs / 1_000,
    profile,
    blocksOf(network)[0],
    [...calls].map(([name, count]) => `${name.replace('eth_', '')} ${whole(count)}`).join(', '),
    each(({ requests }) => whole(requests)),
    each(({ bytesIn }) => megabytes(bytesIn)),
    each(({ bytesOut }) => megabytes(bytesOut)),
    ...costs,
  ];
}
