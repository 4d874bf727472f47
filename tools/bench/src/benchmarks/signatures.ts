import autocannon from 'autocannon';
import { sealSecret, tokenAad, webhookSecretAad } from '@opentill/db/sealed-secret';
import { nextClient, withBenchGateway, type BenchGateway } from '../gateway.ts';
import { mainThreadMs, untilIdle } from '../processes.ts';
import type { Benchmark } from '../report.ts';
import { round } from '../statistics.ts';

const CONNECTIONS = 8;
const SERVICES_TO_STOP = ['demo-shop', 'webhook-sender', 'confirmation-tracker', 'scanner-evm'] as const;
const WRONG = 'f'.repeat(64);
const BODY = `{"sign":"${WRONG}","timestamp":1,"nonce":"n","data":{"orderId":"order-1001","amount":"12.50","symbol":"USDT","chain":"ETH_SEPOLIA"}}`;
const PAY = `/v1/order/pay?orderId=order-1001&sign=`;
const CREATE = '/v1/order/createCollection';

/** `default` is an existing merchant. */
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

export const signatures: Benchmark = ({ say, quick }) =>
  withBenchGateway(async (bench) => {
    const { gateway } = bench;
    const [counts, rounds, requests] = quick ? [[1, 100], 1, 100] : [[1, 100, 10_000], 5, 1_000];
    for (const service of SERVICES_TO_STOP) await gateway.stopService(service);
    const figures: number[][] = [];
    for (const merchants of counts) {
      await addMerchants(bench, merchants);
      // The restart makes the api load all merchants.
      await gateway.stopService('api');
      await gateway.startService('api');
      await untilIdle(gateway.services.get('api')?.pid ?? 0);
      say(`wrong signatures with ${merchants} merchants`);
      const taken = Object.keys(KINDS).map((): number[] => []);
      for (let number = 0; number <= rounds; number += 1)
        for (const [place, kind] of Object.keys(KINDS).entries()) {
          const ms = await measure(bench, kind, requests);
          if (number > 0) taken[place]?.push(ms); // the first round warms the compiler
        }
      // Minimum of the rounds, because other work on the machine only adds time.
      figures.push(taken.map((some) => round(Math.min(...some))));
    }
    return [
      {
        title: 'Processor time of the main thread of the api for one rejected request, ms',
        columns: ['request', ...counts.map((count) => `merchants: ${count.toLocaleString('en')}`)],
        rows: Object.keys(KINDS).map((kind, place) => [
          kind,
          ...figures.map((column) => column[place] ?? ''),
        ]),
      },
    ];
  });

async function measure({ gateway }: BenchGateway, name: string, amount: number): Promise<number> {
  const { path = '', body } = KINDS[name] ?? {};
  const pid = gateway.services.get('api')?.pid ?? 0;
  const before = mainThreadMs(pid);
  const { statusCodeStats } = await autocannon({
    url: gateway.apiUrl,
    connections: CONNECTIONS,
    amount,
    requests: [
      {
        method: body === undefined ? 'GET' : 'POST',
        path,
        setupRequest: (request) => {
          const headers = { ...request.headers, ...nextClient() };
          if (body === undefined) return { ...request, headers };
          return { ...request, headers: { ...headers, 'content-type': 'application/json' }, body };
        },
      },
    ],
  });
  const rejected = statusCodeStats?.['401']?.count ?? 0;
  if (rejected !== amount)
    throw new Error(`${name}: ${rejected} of ${amount} were 401: ${JSON.stringify(statusCodeStats)}`);
  return (mainThreadMs(pid) - before) / amount;
}

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
