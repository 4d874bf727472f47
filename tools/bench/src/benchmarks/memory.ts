import { SERVICE_NAMES, type ServiceName } from '@opentill/local/gateway-options';
import { PROCESS_MEMORY } from '@opentill/local/process-memory';
import { startSmallProcess, type SmallProcess } from '@opentill/local/start-small-gateway';
import { evm } from '../families/evm.ts';
import { liftLimits, withBenchGateway, type BenchGateway } from '../gateway.ts';
import { processorMs, proportionalMegabytes, residentMegabytes } from '../processes.ts';
import type { Benchmark, Run, Table } from '../report.ts';
import { quantile, round } from '../statistics.ts';
import { sleep } from '../wait.ts';
import { runLoad } from './payments.ts';

type Reading = ReadonlyMap<string, readonly [resident: number, proportional: number]>;

const RATE = 20;
const SMALL: readonly SmallProcess[] = ['gateway', 'signer'];
/** Heap limits of deploy/small's examples. */
const SMALL_ENVIRONMENT: Readonly<Record<SmallProcess, Readonly<Record<string, string>>>> = {
  gateway: { NODE_OPTIONS: `${PROCESS_MEMORY.NODE_OPTIONS} --max-old-space-size=192` },
  signer: { NODE_OPTIONS: `${PROCESS_MEMORY.NODE_OPTIONS} --max-old-space-size=96` },
};
/** Started because the network configuration depends on them, then replaced by the small processes. */
const REPLACED: readonly ServiceName[] = ['payout-signer', 'scanner-tron', 'scanner-sui'];

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
  return [small, await withBenchGateway(separate, SERVICE_NAMES)];
};

async function measure(bench: BenchGateway, title: string, { say, quick }: Run): Promise<Table> {
  const { services } = bench.gateway;
  const [idleMs, seconds] = quick ? [1_000, 5] : [60_000, 150];
  await liftLimits(bench);
  say(`${title}: idle for ${(2 * idleMs) / 1_000} s, then ${RATE} payments/s for ${seconds} s`);
  await sleep(idleMs); // ends what a start begins, such as deriving addresses
  const busy = await processorShares(services, idleMs);
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
    return [name, busy.get(name) ?? 0, ...first, of(0, 0.5), of(1, 0.5), of(0, 1), of(1, 1)] as const;
  });
  const sum = (place: number) =>
    round(
      rows.reduce((total, row) => total + Number(row[place]), 0),
      place === 1 ? 1 : 0,
    );
  return {
    title: `${title}: % of a core and MB, with ${RATE} payments/s for ${seconds} s`,
    columns: [
      'process',
      'idle %',
      'idle RSS',
      'idle PSS',
      'loaded RSS',
      'loaded PSS',
      'most RSS',
      'most PSS',
    ],
    rows: [...rows, ['together', ...[1, 2, 3, 4, 5, 6, 7].map(sum)]],
  };
}

/** Percent of one core over `windowMs`. */
async function processorShares(
  services: BenchGateway['gateway']['services'],
  windowMs: number,
): Promise<ReadonlyMap<string, number>> {
  const read = () => new Map([...services].map(([name, { pid }]) => [name, processorMs(pid)]));
  const [before, startedAt] = [read(), performance.now()];
  await sleep(windowMs);
  const elapsedMs = performance.now() - startedAt;
  return new Map(
    [...read()].map(([name, ms]) => [name, round(((ms - (before.get(name) ?? 0)) / elapsedMs) * 100, 2)]),
  );
}

function read(services: BenchGateway['gateway']['services']): Reading {
  return new Map(
    [...services].map(([name, { pid }]) => [name, [residentMegabytes(pid), proportionalMegabytes(pid)]]),
  );
}
