import { BROKER_SERVICES, type BrokerService } from '@opentill/local/gateway-options';
import { startSmallProcess, type SmallProcess } from '@opentill/local/start-small-gateway';
import { evm } from '../families/evm.ts';
import { liftLimits, withBenchGateway, type BenchGateway } from '../gateway.ts';
import { proportionalMegabytes, residentMegabytes } from '../processes.ts';
import type { Benchmark, Run, Table } from '../report.ts';
import { quantile, round } from '../statistics.ts';
import { sleep } from '../wait.ts';
import { runLoad } from './payments.ts';

type Reading = ReadonlyMap<string, readonly [resident: number, proportional: number]>;

const RATE = 20;
const SMALL: readonly SmallProcess[] = ['gateway', 'signer'];
/** NODE_OPTIONS and MALLOC_ARENA_MAX of deploy/small's examples. */
const SMALL_ENVIRONMENT: Readonly<Record<SmallProcess, Readonly<Record<string, string>>>> = {
  gateway: { NODE_OPTIONS: '--max-old-space-size=192 --max-semi-space-size=4', MALLOC_ARENA_MAX: '2' },
  signer: { NODE_OPTIONS: '--max-old-space-size=96 --max-semi-space-size=2', MALLOC_ARENA_MAX: '2' },
};
/** Started because the network configuration depends on them, then replaced by the small processes. */
const REPLACED: readonly BrokerService[] = ['payout-signer', 'scanner-tron'];

/** Compares two processes with one per service, idle and with 20 payments/s on an EVM devnet. */
export const memory: Benchmark = async (run) => {
  const small = await withBenchGateway(async (bench) => {
    for (const service of REPLACED) await bench.gateway.stopService(service);
    const started = await Promise.all(
      SMALL.map(async (name) => startSmallProcess(bench.gateway, name, SMALL_ENVIRONMENT[name])),
    );
    try {
      const services = new Map(SMALL.map((name, place) => [`small ${name}`, started[place]!]));
      return await measure(
        { ...bench, gateway: { ...bench.gateway, services } },
        'Two processes (deploy/small)',
        run,
      );
    } finally {
      await Promise.all(started.map((group) => group.stop()));
    }
  }, REPLACED);
  const separate = (bench: BenchGateway) => measure(bench, 'A process per service', run);
  return [small, await withBenchGateway(separate, BROKER_SERVICES)];
};

async function measure(bench: BenchGateway, title: string, { say, quick }: Run): Promise<Table> {
  const { services } = bench.gateway;
  const [idleMs, seconds] = quick ? [1_000, 5] : [60_000, 150];
  await liftLimits(bench);
  say(`${title}: idle for ${idleMs / 1_000} s, then ${RATE} payments/s for ${seconds} s`);
  await sleep(idleMs);
  const idle = read(services);
  const devnet = await evm.takeOver(bench.gateway);
  const readings: Reading[] = [];
  const reading = setInterval(() => readings.push(read(services)), 1_000);
  try {
    await runLoad(bench, evm, devnet, RATE, seconds);
  } finally {
    clearInterval(reading);
  }
  const rows = [...idle].map(([name, first]) => {
    const of = (kind: 0 | 1, share: number) =>
      quantile(
        readings.map((one) => one.get(name)?.[kind] ?? 0),
        share,
      );
    return [name, ...first, of(0, 0.5), of(1, 0.5), of(0, 1), of(1, 1)] as const;
  });
  const sum = (place: number) =>
    round(
      rows.reduce((total, row) => total + Number(row[place]), 0),
      0,
    );
  return {
    title: `${title}: MB, with ${RATE} payments/s for ${seconds} s`,
    columns: ['process', 'idle RSS', 'idle PSS', 'loaded RSS', 'loaded PSS', 'most RSS', 'most PSS'],
    rows: [...rows, ['together', ...[1, 2, 3, 4, 5, 6].map(sum)]],
  };
}

function read(services: BenchGateway['gateway']['services']): Reading {
  return new Map(
    [...services].map(([name, { pid }]) => [name, [residentMegabytes(pid), proportionalMegabytes(pid)]]),
  );
}
