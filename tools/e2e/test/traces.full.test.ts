import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getAddress, hexlify } from 'ethers';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ServiceName } from '@opentill/local/gateway-options';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createMerchantClient } from '../src/merchant-client.ts';
import { runOpentill } from '../src/run-opentill.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import {
  drawTree,
  startTraceCollector,
  type CollectedSpan,
  type TraceCollector,
} from '../src/start-trace-collector.ts';

// The services run as processes and export to a local collector. The merchant's own trace is the root.

const SERVICES = [
  'api',
  'scanner-evm',
  'confirmation-tracker',
  'webhook-sender',
  'payout-signer',
  'ops',
] as const satisfies readonly ServiceName[];
const CHAIN = 'ETH_SEPOLIA';

let under: GatewayUnderTest;
let collector: TraceCollector;
beforeAll(async () => {
  collector = await startTraceCollector();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint };
  under = await startGatewayUnderTest({
    services: SERVICES,
    extraEnvironment: Object.fromEntries(SERVICES.map((service) => [service, env])),
  });
});
afterAll(async () => {
  await under.stop();
  await collector.close();
});

function aTrace() {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  const traceparent = `00-${traceId}-${spanId}-01`;
  const client = createMerchantClient(under.gateway.apiUrl, under.merchantToken, { traceparent });
  return { traceId, spanId, client };
}

async function opentill(...args: readonly string[]): Promise<string> {
  const { code, out, errors } = await runOpentill(under.gateway, args);
  expect({ args, code, errors }).toEqual({ args, code: 0, errors: '' });
  return out;
}

/** Spans whose parent is none of the others. */
function rootsOf(spans: readonly CollectedSpan[]): readonly CollectedSpan[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  return spans.filter(({ parentSpanId }) => !ids.has(parentSpanId ?? ''));
}

const servicesOf = (spans: readonly CollectedSpan[]) =>
  [...new Set(spans.map(({ service }) => service))].toSorted();

/** Services export every few seconds, each at its own time. */
async function untilExported(traceId: string, services: readonly ServiceName[], last: string) {
  const spans = () => collector.spansOf(traceId);
  await waitUntil('all spans are exported', () =>
    Promise.resolve(
      spans().some(({ name }) => name === last) &&
        servicesOf(spans()).length >= services.length &&
        rootsOf(spans()).length === 1,
    ),
  ).catch(() => undefined); // the expectations show what is missing
  expect(servicesOf(spans())).toEqual(services.toSorted());
  return spans();
}

/** Names of a span and its ancestors, up to the merchant. */
function pathOf(spans: readonly CollectedSpan[], name: string): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const path: string[] = [];
  for (
    let span = spans.find((one) => one.name === name);
    span !== undefined;
    span = byId.get(span.parentSpanId ?? '')
  )
    path.push(`${span.service}: ${span.name}`);
  return path;
}

/** The request is the only root, below the merchant's span. */
function expectOneTree(spans: readonly CollectedSpan[], merchantSpanId: string): void {
  expect(rootsOf(spans).map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual([
    [expect.stringMatching(/^create/), merchantSpanId],
  ]);
  const drawn = drawTree(spans, merchantSpanId);
  console.log(drawn);
  expect(drawn.split('\n')).toHaveLength(spans.length);
}

function expectCallbacksInTrace(spans: readonly CollectedSpan[], orderId: string): void {
  const callbacks = under.receiver.of(orderId);
  expect(callbacks.length).toBeGreaterThan(1);
  for (const { notifyType, headers } of callbacks) {
    const [, traceId, spanId] = String(headers['traceparent']).split('-');
    expect(spans).toContainEqual(
      expect.objectContaining({ service: 'webhook-sender', name: `callback ${notifyType}`, traceId, spanId }),
    );
  }
}

/** Services with a log line of this trace. */
function servicesInLogs(traceId: string): string[] {
  const { logs } = under.gateway.directory;
  const lines = readdirSync(logs).flatMap((name) => readFileSync(join(logs, name), 'utf8').split('\n'));
  const found = lines
    .filter((line) => line.includes(`"trace_id":"${traceId}"`))
    .map((line) => JSON.parse(line) as { readonly service: string; readonly span_id: string });
  for (const line of found) expect(line.span_id).toMatch(/^[0-9a-f]{16}$/);
  return [...new Set(found.map(({ service }) => service))].toSorted();
}

it("continues the merchant's trace through six services, minutes later too", async () => {
  const eth = under.chains.ETH_SEPOLIA;
  const { traceId, spanId, client } = aTrace();
  const orderId = under.newOrderId();
  const expiresIn = (await eth.secondsAhead()) + 60;
  const { data: order } = await client.createCollection({
    orderId,
    amount: '100',
    symbol: 'USDT',
    chain: CHAIN,
    expiresIn,
  });
  const status = async () => (await under.merchant.status(orderId)).data?.status;
  await eth.jump(61);
  await waitUntil('it is expired', async () => (await status()) === 'EXPIRED');
  await eth.pay({ to: order!.address, amount: '100' });
  let id = '';
  await waitUntil('the late payment is listed', async () => {
    const line = (await opentill('unmatched', 'list')).split('\n').find((one) => one.includes(orderId));
    id = line?.split('\t')[0] ?? '';
    return line?.includes('LATE') === true;
  });
  const accept = () => runOpentill(under.gateway, ['unmatched', 'accept', id, '--reason', 'the shop agrees']);
  await waitUntil('the payment is verified and accepted', async () => (await accept()).code === 0);
  await waitUntil('it is paid', async () => (await status()) === 'SUCCESS');
  await opentill('sweep', 'run', '--chain', CHAIN, '--reason', 'the test');
  await waitUntil('it is swept', async () => {
    const { rows } = await sql`select from sweep where state = 'DONE'`.execute(under.database.kysely);
    return rows.length === 1;
  });

  const spans = await untilExported(traceId, SERVICES, 'callback COLLECT_SUCCESS');
  expectOneTree(spans, spanId);
  expect(pathOf(spans, 'callback ORDER_SUCCESS')).toEqual([
    'webhook-sender: callback ORDER_SUCCESS',
    'confirmation-tracker: settle order',
    'confirmation-tracker: process order.decided',
    'ops: acceptDeposit',
    'api: createCollection',
  ]);
  expect(pathOf(spans, 'process transfer.detected')).toEqual([
    'confirmation-tracker: process transfer.detected',
    'scanner-evm: transfer detected',
    'api: createCollection',
  ]);
  for (const span of spans)
    expect(span.name.startsWith('process ') || 'opentill.order_pk' in span.attributes).toBe(true);
  const root = spans.find(({ name }) => name === 'createCollection');
  expect(root?.attributes).toMatchObject({ 'opentill.order_id': orderId, 'http.response.status_code': 200 });
  expectCallbacksInTrace(spans, orderId);
  expect(servicesInLogs(traceId)).toEqual(
    expect.arrayContaining(['api', 'confirmation-tracker', 'payout-signer', 'scanner-evm', 'webhook-sender']),
  );
}, 600_000);

it('shows a payout from its request to its last callback as one tree', async () => {
  const { traceId, spanId, client } = aTrace();
  const orderId = under.newOrderId();
  const receiveAddress = getAddress(hexlify(randomBytes(20)));
  const { data } = await client.createPayout({
    orderId,
    amount: '5',
    symbol: 'USDT',
    chain: CHAIN,
    receiveAddress,
  });
  expect(data?.orderId).toBe(orderId);
  const five = SERVICES.filter((service) => service !== 'ops');
  const spans = await untilExported(traceId, five, 'callback ORDER_SUCCESS');
  expectOneTree(spans, spanId);
  expect(spans.map(({ name }) => name)).toEqual(expect.arrayContaining(['sign payout', 'send payout']));
  expect(pathOf(spans, 'process payout.changed')).toEqual([
    'confirmation-tracker: process payout.changed',
    'payout-signer: send payout',
    'api: createPayout',
  ]);
  expectCallbacksInTrace(spans, orderId);
}, 600_000);
