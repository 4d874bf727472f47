import { liftLimits } from './compare-creation.ts';
import { measureFullBlock, type FullBlockFigures } from './measure-full-block.ts';
import { memoryOf } from './read-memory.ts';
import { createSprayer, type Sprayer } from './spray-payments.ts';
import { createSuiSprayer, createTronSprayer } from './spray-devnet-payments.ts';
import { withBenchGateway, type BenchGateway } from './start-bench-gateway.ts';
import { runSteadyLoad, type SteadyLoadFigures } from './steady-load.ts';

/** The figures of `npm run bench -- payments`. */
export interface PaymentsReport {
  /** Blocks of a thousand payments, each on an otherwise quiet gateway. */
  readonly fullBlocks: readonly FullBlockFigures[];
  /** 10, 50 and 200 payments a second. */
  readonly latency: readonly SteadyLoadFigures[];
  /** Resident memory of each service, in megabytes: at first, and when everything has been measured. */
  readonly megabytesIdle: Readonly<Record<string, number>>;
  readonly megabytesLoaded: Readonly<Record<string, number>>;
  /** Ever more payments a second, until they pile up; the last step is the first that did. */
  readonly ramp: readonly SteadyLoadFigures[];
}

const FULL_BLOCK = 1_000;
const FULL_BLOCKS = 3;
const LATENCY_RATES = [10, 50, 200] as const;
const LATENCY_SECONDS = 12;
const RAMP_RATES = [100, 200, 300, 400, 500, 700, 1_000, 1_400] as const;
const RAMP_SECONDS = 8;
/** Later than the next block: then payments come in faster than they go out. */
const PILED_UP_MS = 1_000;

/** What is measured of another chain than the first: how far it keeps up is a question of the services, not of the chain. */
export type ShortPaymentsReport = Pick<PaymentsReport, 'fullBlocks' | 'latency'>;

/** The same way on TRON, a block every second that is solid after three more. */
export function benchTronPayments(say: (line: string) => void): Promise<ShortPaymentsReport> {
  return benchOther('scanner-tron', createTronSprayer, say);
}

/** The same way on SUI, a checkpoint every second, which is final. */
export function benchSuiPayments(say: (line: string) => void): Promise<ShortPaymentsReport> {
  return benchOther('scanner-sui', createSuiSprayer, say);
}

function benchOther(
  scanner: 'scanner-tron' | 'scanner-sui',
  createOther: (gateway: BenchGateway['gateway']) => Promise<Sprayer>,
  say: (line: string) => void,
): Promise<ShortPaymentsReport> {
  return withBenchGateway(
    async (bench) => {
      await liftLimits(bench.database);
      const sprayer = await createOther(bench.gateway);
      say('warm-up');
      await runSteadyLoad(bench, sprayer, 100, 5);
      return measureBlocks(bench, sprayer, say);
    },
    ['api', 'scanner-evm', scanner, 'confirmation-tracker', 'webhook-sender'],
  );
}

/** Blocks full of payments, and payments at a steady rate. */
async function measureBlocks(
  bench: BenchGateway,
  sprayer: Sprayer,
  say: (line: string) => void,
): Promise<ShortPaymentsReport> {
  const fullBlocks: FullBlockFigures[] = [];
  for (let round = 1; round <= FULL_BLOCKS; round += 1) {
    say(`a block with ${FULL_BLOCK} payments, ${round} of ${FULL_BLOCKS}`);
    fullBlocks.push(await measureFullBlock(bench, sprayer, FULL_BLOCK));
  }
  const latency: SteadyLoadFigures[] = [];
  for (const rate of LATENCY_RATES) {
    say(`${rate} payments/s`);
    latency.push(await runSteadyLoad(bench, sprayer, rate, LATENCY_SECONDS));
  }
  return { fullBlocks, latency };
}

/** Measures the way of payments through all processes, a block every second. `say` gets a line per step. */
export async function benchPayments(say: (line: string) => void): Promise<PaymentsReport> {
  return withBenchGateway(async (bench) => {
    await liftLimits(bench.database);
    const megabytesIdle = memoryOf(bench.gateway.services);
    const sprayer = await createSprayer(bench.gateway);
    try {
      say('warm-up');
      await runSteadyLoad(bench, sprayer, 100, 5);
      const { fullBlocks, latency } = await measureBlocks(bench, sprayer, say);
      const ramp: SteadyLoadFigures[] = [];
      for (const rate of RAMP_RATES) {
        say(`${rate} payments/s, until they pile up`);
        const figures = await runSteadyLoad(bench, sprayer, rate, RAMP_SECONDS);
        ramp.push(figures);
        if (figures.lastQuarterP50Ms > PILED_UP_MS) break;
      }
      const megabytesLoaded = memoryOf(bench.gateway.services);
      return { fullBlocks, latency, ramp, megabytesIdle, megabytesLoaded };
    } finally {
      sprayer.close();
    }
  });
}
