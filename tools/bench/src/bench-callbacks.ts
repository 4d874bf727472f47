import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openDatabase } from '@opentill/db/database';
import { upsertMerchant } from '@opentill/db/merchants';
import { liftLimits } from './compare-creation.ts';
import { createOrders } from './create-orders.ts';
import { coresUsed, readProcessorSeconds, type ProcessorSeconds } from './processor-time.ts';
import { withBenchGateway, type BenchGateway } from './start-bench-gateway.ts';

/** A backlog of callbacks to ten merchants, worked off by one webhook-sender. */
export interface CallbackFigures {
  readonly merchants: number;
  /** Whose servers take the request and never answer. */
  readonly hanging: number;
  /** Callbacks to the merchants that answer. */
  readonly callbacks: number;
  /** From the sender's first request to the last of these answers. */
  readonly perSecond: number;

  readonly cores: ProcessorSeconds;
}

/** The figures of `npm run bench -- callbacks`. */
export interface CallbacksReport {
  readonly fast: CallbackFigures;
  readonly withHanging: CallbackFigures;
  /** withHanging / fast. */
  readonly ratio: number;
}

const MERCHANTS = 10;
const CALLBACKS_PER_MERCHANT = 600;
const DEADLINE_MS = 120_000;

/** Measures how fast waiting callbacks go out, to merchants that answer at once and with one in ten that hangs. */
export async function benchCallbacks(say: (line: string) => void): Promise<CallbacksReport> {
  const measure = async (hanging: number): Promise<CallbackFigures> =>
    withBenchGateway(async (bench) => measureBacklog(bench, hanging));
  say(`callbacks to ${MERCHANTS} fast merchants`);
  const fast = await measure(0);
  say(`callbacks with ${MERCHANTS / 10} of ${MERCHANTS} merchants hanging`);
  const withHanging = await measure(MERCHANTS / 10);
  return { fast, withHanging, ratio: Math.round((withHanging.perSecond / fast.perSecond) * 100) / 100 };
}

async function measureBacklog(bench: BenchGateway, hanging: number): Promise<CallbackFigures> {
  const receivers = await Promise.all(
    Array.from({ length: MERCHANTS }, async (_, index) => startReceiver(index < hanging)),
  );
  try {
    const tokens = await createMerchants(
      bench,
      receivers.map(({ url }) => url),
    );
    // The sender alone is measured; the others have done their part once the chains have begun.
    for (const service of ['webhook-sender', 'confirmation-tracker', 'scanner-evm'])
      await bench.gateway.stopService(service);
    for (const token of tokens) await createOrders(bench, CALLBACKS_PER_MERCHANT, token);
    const expected = (MERCHANTS - hanging) * CALLBACKS_PER_MERCHANT;
    const before = readProcessorSeconds(bench.gateway);
    const startedAt = performance.now();
    await bench.gateway.startService('webhook-sender');
    const healthy = receivers.filter(({ isHanging }) => !isHanging);
    const count = (): number => healthy.reduce((sum, { arrivedAtMs }) => sum + arrivedAtMs.length, 0);
    while (count() < expected) {
      if (performance.now() - startedAt > DEADLINE_MS)
        throw new Error(`${count()} of ${expected} callbacks came`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const arrivals = healthy.flatMap(({ arrivedAtMs }) => arrivedAtMs);
    const firstAt = arrivals.reduce((first, atMs) => Math.min(first, atMs), Number.POSITIVE_INFINITY);
    const lastAt = arrivals.reduce((last, atMs) => Math.max(last, atMs), 0);
    return {
      merchants: MERCHANTS,
      hanging,
      callbacks: expected,
      perSecond: Math.round((expected / (lastAt - firstAt)) * 1_000),
      cores: coresUsed(before, readProcessorSeconds(bench.gateway), (performance.now() - startedAt) / 1_000),
    };
  } finally {
    for (const receiver of receivers) receiver.close();
  }
}

/** @returns their tokens */
async function createMerchants(
  { gateway, database }: BenchGateway,
  urls: readonly string[],
): Promise<string[]> {
  const secretsKey = Buffer.from(gateway.environmentOf('api')['SECRETS_KEY'] ?? '', 'base64');
  const owner = openDatabase({ url: gateway.database.url, applicationName: 'bench', poolMax: 1 });
  const tokens: string[] = [];
  try {
    for (const [index, callbackUrl] of urls.entries()) {
      const token = randomBytes(16).toString('hex');
      const secrets = { token, webhookSecret: randomBytes(16).toString('hex') };
      const merchant = {
        merchantId: `bench-${index}`,
        name: `Bench ${index}`,
        version: 'V3',
        callbackUrl,
      } as const;
      await upsertMerchant(owner.kysely, secretsKey, { ...merchant, ...secrets });
      tokens.push(token);
    }
  } finally {
    await owner.close();
  }
  await liftLimits(database); // by then the api has read its new merchants, too
  return tokens;
}

interface Receiver {
  readonly url: string;
  readonly isHanging: boolean;
  readonly arrivedAtMs: number[];
  close(): void;
}

async function startReceiver(isHanging: boolean): Promise<Receiver> {
  const arrivedAtMs: number[] = [];
  const server: Server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      arrivedAtMs.push(performance.now());
      if (!isHanging) response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/callbacks`,
    isHanging,
    arrivedAtMs,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
