import type { BrokerService } from '@opentill/local/gateway-options';
import { BROKER_SERVICES } from '@opentill/local/gateway-options';
import { startSmallProcess, type SmallProcess } from '@opentill/local/start-small-gateway';
import { liftLimits } from './compare-creation.ts';
import { quantile } from './measure-latency.ts';
import { proportionalMegabytes, residentMegabytes } from './read-memory.ts';
import { createSprayer } from './spray-payments.ts';
import { withBenchGateway, type BenchGateway } from './start-bench-gateway.ts';
import { runSteadyLoad, type LatencyFigures } from './steady-load.ts';

/** Megabytes (10^6 bytes) of a process: all that is resident, and its share of what it shares. */
interface Megabytes {
  readonly resident: number;
  readonly proportional: number;
}
type ByProcess = Readonly<Record<string, Megabytes>>;

/** One way of running the gateway. */
export interface MemoryFigures {
  /** A minute after the start. */
  readonly idle: ByProcess;
  /** With payments, looked at every second: the median and the most. */
  readonly loaded: ByProcess;
  readonly most: ByProcess;
  /** From block to SUCCESS callback, and cores used. */
  readonly success: LatencyFigures;
  readonly cores: Readonly<Record<string, number>>;
}
export interface SmallReport {
  readonly paymentsPerSecond: number;
  readonly seconds: number;
  /** The two processes of deploy/small. */
  readonly small: MemoryFigures;
  /** A process per service, as npm start and docker-compose.yml run them. */
  readonly separate: MemoryFigures;
}

const RATE = 20;
const SECONDS = 150;
const IDLE_MS = 60_000;
const LOOK_MS = 1_000;
const SMALL: readonly SmallProcess[] = ['gateway', 'signer'];
/** What deploy/small's examples set. */
const SMALL_ENVIRONMENT: Readonly<Record<SmallProcess, Readonly<Record<string, string>>>> = {
  gateway: { NODE_OPTIONS: '--max-old-space-size=192 --max-semi-space-size=4', MALLOC_ARENA_MAX: '2' },
  signer: { NODE_OPTIONS: '--max-old-space-size=96 --max-semi-space-size=2', MALLOC_ARENA_MAX: '2' },
};

/**
 * Memory of the whole gateway in two processes, and in one per service, idle and at 20 payments/s on the EVM devnets; it
 * follows that of TRON as well.
 */
export async function measureSmall(say: (line: string) => void): Promise<SmallReport> {
  // They are started for their parts of the networks' configuration, and give way to the small ones.
  const services: readonly BrokerService[] = ['payout-signer', 'scanner-tron'];
  const small = await withBenchGateway(async (bench) => {
    for (const service of services) await bench.gateway.stopService(service);
    const started = await Promise.all(
      SMALL.map(async (name) => startSmallProcess(bench.gateway, name, SMALL_ENVIRONMENT[name])),
    );
    try {
      const running = new Map(SMALL.map((name, place) => [`small ${name}`, started[place]!]));
      return await measure({ ...bench, gateway: { ...bench.gateway, services: running } }, say);
    } finally {
      await Promise.all(started.map((group) => group.stop()));
    }
  }, services);
  const separate = await withBenchGateway(async (bench) => measure(bench, say), BROKER_SERVICES);
  return { paymentsPerSecond: RATE, seconds: SECONDS, small, separate };
}

async function measure(bench: BenchGateway, say: (line: string) => void): Promise<MemoryFigures> {
  const { services } = bench.gateway;
  say(`${[...services.keys()].join(', ')}: idle for a minute`);
  await liftLimits(bench.database);
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const idle = look(services);
  say(`idle: ${JSON.stringify(idle)}; ${RATE} payments/s for ${SECONDS} s`);
  const sprayer = await createSprayer(bench.gateway);
  const looks: ByProcess[] = [];
  const looking = setInterval(() => looks.push(look(services)), LOOK_MS);
  try {
    const { success, cores } = await runSteadyLoad(bench, sprayer, RATE, SECONDS);
    const of = (place: number) => overLooks(looks, place);
    return { idle, loaded: of(0.5), most: of(1), success, cores };
  } finally {
    clearInterval(looking);
    sprayer.close();
  }
}

function look(services: BenchGateway['gateway']['services']): ByProcess {
  return Object.fromEntries(
    [...services].map(([name, { pid }]) => [
      name,
      { resident: residentMegabytes(pid), proportional: proportionalMegabytes(pid) },
    ]),
  );
}

function overLooks(looks: readonly ByProcess[], place: number): ByProcess {
  const figure = (name: string, kind: keyof Megabytes): number =>
    quantile(
      looks.map((one) => one[name]?.[kind] ?? 0).sort((a, b) => a - b),
      place,
    );
  return Object.fromEntries(
    Object.keys(looks[0] ?? {}).map((name) => [
      name,
      { resident: figure(name, 'resident'), proportional: figure(name, 'proportional') },
    ]),
  );
}

/** The figures as tables, line by line. */
export function describeSmall(report: SmallReport): string[] {
  const { paymentsPerSecond, seconds, small, separate } = report;
  const table = (title: string, { idle, loaded, most, success }: MemoryFigures): string[] => {
    const cell = ({ resident, proportional }: Megabytes) => `${resident} | ${proportional}`;
    const rows = Object.keys(idle).map((name) => [name, idle[name]!, loaded[name]!, most[name]!] as const);
    const sum = (place: 1 | 2 | 3): Megabytes => ({
      resident: Math.round(rows.reduce((total, row) => total + row[place].resident, 0)),
      proportional: Math.round(rows.reduce((total, row) => total + row[place].proportional, 0)),
    });
    return [
      title,
      `| MB | idle RSS | idle PSS | at ${paymentsPerSecond}/s RSS | PSS | most RSS | most PSS |`,
      '|---|---|---|---|---|---|---|',
      ...rows.map(([name, ...cells]) => `| ${name} | ${cells.map(cell).join(' | ')} |`),
      `| together | ${cell(sum(1))} | ${cell(sum(2))} | ${cell(sum(3))} |`,
      `block to SUCCESS: p50 ${success.p50Ms} ms, p99 ${success.p99Ms} ms, of ${success.count}`,
      '',
    ];
  };
  return [
    `Memory, idle after a minute and at ${paymentsPerSecond} payments/s for ${seconds} s on two EVM devnets, TRON followed`,
    '',
    ...table('One small machine (deploy/small)', small),
    ...table('A process per service', separate),
  ];
}
