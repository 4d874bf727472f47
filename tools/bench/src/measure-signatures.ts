import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';
import { sealSecret, tokenAad, webhookSecretAad } from '@opentill/db/sealed-secret';
import { round2 } from './median.ts';
import { untilIdle } from './read-memory.ts';
import { withBenchGateway, type BenchGateway } from './start-bench-gateway.ts';

/** Milliseconds of processor time of the api's main thread for one refused request, by the kind of request. */
export interface SignatureFigures {
  readonly merchants: number;
  readonly milliseconds: Readonly<Record<string, number>>;
}

const COUNTS = [1, 100, 10_000] as const;
const ROUNDS = 5;
const REQUESTS_PER_ROUND = 1_000;
const CONNECTIONS = 8;
const SERVICES_TO_STOP = ['demo-shop', 'webhook-sender', 'confirmation-tracker', 'scanner-evm'] as const;
const WRONG = 'f'.repeat(64);
const BODY = `{"sign":"${WRONG}","timestamp":1,"nonce":"n","data":{"orderId":"order-1001","amount":"12.50","symbol":"USDT","chain":"ETH_SEPOLIA"}}`;
const PAY = `/v1/order/pay?orderId=order-1001&sign=`;
const CREATE = '/v1/order/createCollection';

/** `default` is a merchant of the gateway. */
const KINDS: Readonly<Record<string, { readonly path: string; readonly body?: string }>> = {
  'GET, no signature': { path: PAY },
  'GET, named merchant': { path: `/m/default${PAY}${WRONG}` },
  'GET, unknown merchant': { path: `/m/unknown${PAY}${WRONG}` },
  'GET, payment link': { path: `${PAY}${WRONG}.default` },
  'GET, no name': { path: PAY + WRONG },
  'POST, no signature': { path: CREATE, body: BODY.replace(WRONG, '') },
  'POST, named merchant': { path: `/m/default${CREATE}`, body: BODY },
  'POST, unknown merchant': { path: `/m/unknown${CREATE}`, body: BODY },
  'POST, no name': { path: CREATE, body: BODY },
};

/** Measures what a wrong signature costs the api with 1, 100 and 10,000 merchants. */
export async function measureSignatures(say: (line: string) => void): Promise<readonly SignatureFigures[]> {
  return withBenchGateway(async (bench) => {
    for (const service of SERVICES_TO_STOP) await bench.gateway.stopService(service);
    const figures: SignatureFigures[] = [];
    for (const merchants of COUNTS) {
      await addMerchants(bench, merchants);
      // A restart reads them all: their rows are as old as those of a gateway at rest.
      await bench.gateway.stopService('api');
      await bench.gateway.startService('api');
      const pid = bench.gateway.services.get('api')?.pid;
      if (pid === undefined) throw new Error('the api does not run');
      await untilIdle(pid);
      say(`wrong signatures with ${merchants} merchants`);
      figures.push({ merchants, milliseconds: await measureKinds(bench) });
    }
    return figures;
  });
}

/** The least of rounds, in turns: other work on the machine only ever adds. */
async function measureKinds(bench: BenchGateway): Promise<SignatureFigures['milliseconds']> {
  const names = Object.keys(KINDS);
  for (const name of names) await measureOne(bench, name); // the compiler warms up
  const rounds: Record<string, number>[] = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    const round: Record<string, number> = {};
    for (const name of names) round[name] = await measureOne(bench, name);
    rounds.push(round);
  }
  return Object.fromEntries(
    names.map((name) => [name, round2(Math.min(...rounds.map((round) => round[name] ?? NaN)))]),
  );
}

let sent = 0;

async function measureOne({ gateway }: BenchGateway, name: string): Promise<number> {
  const kind = KINDS[name];
  if (kind === undefined) throw new Error(`no kind ${name}`);
  const { path, body } = kind;
  const before = mainThreadMs(gateway);
  const result = await autocannon({
    url: gateway.apiUrl,
    connections: CONNECTIONS,
    amount: REQUESTS_PER_ROUND,
    requests: [
      {
        method: body === undefined ? 'GET' : 'POST',
        path,
        setupRequest: (request) => {
          sent += 1;
          // Each from another address: the limits are counted and not reached.
          const forwarded = `10.${(sent >> 16) & 255}.${(sent >> 8) & 255}.${sent & 255}`;
          const headers = { ...request.headers, 'x-forwarded-for': forwarded };
          return body === undefined
            ? { ...request, headers }
            : { ...request, headers: { ...headers, 'content-type': 'application/json' }, body };
        },
      },
    ],
  });
  const refused = result.statusCodeStats?.['401']?.count ?? 0;
  if (refused !== REQUESTS_PER_ROUND)
    throw new Error(
      `${name}: ${refused} of ${REQUESTS_PER_ROUND} were 401: ${JSON.stringify(result.statusCodeStats)}`,
    );
  return (mainThreadMs(gateway) - before) / REQUESTS_PER_ROUND;
}

/** Linux counts a thread's processor time in nanoseconds there. */
function mainThreadMs({ services }: BenchGateway['gateway']): number {
  const { pid } = services.get('api') ?? {};
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

/** Adds merchants with tokens of their own until there are so many. */
async function addMerchants({ gateway, database }: BenchGateway, count: number): Promise<void> {
  const key = Buffer.from(gateway.environmentOf('api')['SECRETS_KEY'] ?? '', 'base64');
  const ids = Array.from({ length: count - 1 }, (_, i) => `bench-${i}`);
  await database.query(
    `insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed, updated_at)
     select id, id, 'V3', token, secret, now() - interval '1 hour'
     from unnest($1::text[], $2::bytea[], $3::bytea[]) as m (id, token, secret) on conflict do nothing`,
    [
      ids,
      ids.map((id) => sealSecret(key, `token-of-${id}`, tokenAad(id))),
      ids.map((id) => sealSecret(key, `secret-of-${id}`, webhookSecretAad(id))),
    ],
  );
}

/** The figures as a table, line by line. */
export function describeSignatures(figures: readonly SignatureFigures[]): string[] {
  const names = Object.keys(KINDS);
  return [
    'ms of processor time of the api’s main thread for one refused request',
    `| request | ${figures.map(({ merchants }) => `${merchants.toLocaleString('en')} merchants`).join(' | ')} |`,
    `|---|${figures.map(() => '---').join('|')}|`,
    ...names.map(
      (name) =>
        `| ${name} | ${figures.map(({ milliseconds }) => (milliseconds[name] ?? NaN).toFixed(2)).join(' | ')} |`,
    ),
  ];
}
