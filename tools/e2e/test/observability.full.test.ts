import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getAddress, hexlify, randomBytes } from 'ethers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LOCAL_PORTS, SERVICE_NAMES } from '@opentill/local/gateway-options';
import { DENIED_RECEIVER } from '@opentill/local/prepare-policy';
import { BOARDS } from '@opentill/observability/all-boards';
import { inNamespace } from '@opentill/observability/render-board';
import { OBSERVABILITY } from '@opentill/observability/rule-files';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startPrometheus, type PrometheusServer } from '@opentill/test-servers/prometheus';
import { startFakeSources, type FakeSources } from '@opentill/testkit/rate-sources';
import { waitUntil } from '@opentill/testkit/wait-until';
import { runOpentill } from '../src/run-opentill.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { TEST_LIMIT_MS, WAIT_MS } from '../src/time-limits.ts';

/** Between two orders of a chain. */
const ORDER_PAUSE_MS = 250;
const TRON_CUSTOMER = 'TYutY94JEfgZtSByUA9E3RSR1ghfSH5ox1';
const SUI_CUSTOMER = '0x433d4d9bcdf6cd6cd882322828f89d86f84b58395d44e620bd55d3f29380b88c';

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

const dir = mkdtempSync(join(tmpdir(), 'opentill-prometheus-'));
const ended = new AbortController();
let sources: FakeSources;
let under: GatewayUnderTest;
let prometheus: PrometheusServer;
let load: Promise<unknown>;

beforeAll(async () => {
  sources = await startFakeSources();
  under = await startGatewayUnderTest({
    extraEnvironment: {
      rates: { MANUAL_RATES: '', PRICE_CURRENCIES: 'EUR', RATE_SOURCES_URL: sources.url },
    },
  });
  const configFile = join(dir, 'prometheus.yml');
  writeFileSync(configFile, configurationFor(under));
  prometheus = await startPrometheus({ dir, configFile, port: await findFreePort() });
  under.receiver.answer = refuseSome();
  load = Promise.all([...customers().map(async (customer) => buyUntilEnd(customer)), failUntilEnd()]);
}, TEST_LIMIT_MS);
afterAll(async () => {
  ended.abort();
  await load;
  await prometheus?.stop();
  await under?.stop();
  await sources?.stop();
  rmSync(dir, { recursive: true, force: true });
}, TEST_LIMIT_MS);

/** The file for `npm start` with the ports of this gateway, and intervals for a short test. */
function configurationFor({ gateway }: GatewayUnderTest): string {
  const portOf = (service: (typeof SERVICE_NAMES)[number]) =>
    gateway.environmentOf(service)['HEALTH_PORT'] ?? '';
  const text = readFileSync(join(OBSERVABILITY, 'prometheus/npm-start.yml'), 'utf8')
    .replaceAll('15s', '2s')
    .replace('../rules', join(OBSERVABILITY, 'rules'));
  return SERVICE_NAMES.reduce(
    (sum, service) =>
      sum.replace(`127.0.0.1:${LOCAL_PORTS.health[service]} `, `127.0.0.1:${portOf(service)} `),
    text,
  );
}

interface Customer {
  readonly chain: string;
  readonly pay: (payment: { readonly to: string; readonly amount: string }) => Promise<string>;
  readonly receiver: () => string;
}

function customers(): readonly Customer[] {
  const evm = Object.values(under.chains).map((chain) => ({
    chain: chain.chain,
    pay: chain.pay,
    receiver: () => getAddress(hexlify(randomBytes(20))),
  }));
  const { tron, sui } = under;
  if (tron === undefined || sui === undefined) throw new Error('the gateway has no TRON or SUI');
  return [
    ...evm,
    { chain: tron.chain, pay: tron.pay, receiver: () => TRON_CUSTOMER },
    { chain: sui.chain, pay: sui.pay, receiver: () => SUI_CUSTOMER },
  ];
}

async function buyUntilEnd({ chain, pay, receiver }: Customer): Promise<void> {
  while (!ended.signal.aborted) {
    const fields = { amount: '1', symbol: 'USDT', chain };
    const { data } = await under.merchant.createCollection({ orderId: under.newOrderId(), ...fields });
    if (data !== null) await pay({ to: data.address, amount: '1' });
    await under.merchant.createPayout({
      orderId: under.newOrderId(),
      receiveAddress: receiver(),
      ...fields,
    });
    await abortableDelay(ORDER_PAUSE_MS, ended.signal);
  }
}

/** Every tenth callback is refused once. */
function refuseSome(): GatewayUnderTest['receiver']['answer'] {
  const refused = new Set<string>();
  let count = 0;
  return ({ nonce }) => {
    count += 1;
    if (count % 10 !== 0 || refused.has(nonce)) return 200;
    refused.add(nonce);
    return 503;
  };
}

/** What goes wrong in a healthy gateway: a denied payout, a wrong token, a reorganisation, a bad token of an operator. */
async function failUntilEnd(): Promise<void> {
  const { gateway, merchant } = under;
  const eth = under.chains.ETH_SEPOLIA;
  while (!ended.signal.aborted) {
    const fields = { amount: '1', symbol: 'USDT', chain: eth.chain };
    const { data } = await merchant.createCollection({ orderId: under.newOrderId(), ...fields });
    if (data !== null) await eth.pay({ to: data.address, amount: '1', symbol: 'USDC' });
    await merchant.createPayout({ orderId: under.newOrderId(), receiveAddress: DENIED_RECEIVER, ...fields });
    await eth.reorg(1);
    await fetch(`${gateway.opsUrl}/v1/chains`, { headers: { authorization: 'Bearer nobody.wrong' } });
    await runOpentill(gateway, ['webhook', 'enable', 'default']);
    await abortableDelay(ORDER_PAUSE_MS, ended.signal);
  }
}

async function ask<Result>(path: string): Promise<Result> {
  const response = await fetch(`${prometheus.url}/api/v1/${path}`);
  const { status, data, error } = (await response.json()) as { status: string; data: Result; error?: string };
  if (status !== 'success') throw new Error(`${path}: ${error}`);
  return data;
}

async function query(expr: string): Promise<readonly Sample[]> {
  const filled = inNamespace(expr)
    .replaceAll('$__rate_interval', '1m')
    .replaceAll(/\$(?:chain|namespace)/g, '.*');
  return (await ask<{ result: readonly Sample[] }>(`query?query=${encodeURIComponent(filled)}`)).result;
}

const PANELS = BOARDS.flatMap(({ title, rows }) =>
  rows.flatMap((row) =>
    row.panels.flatMap((panel) =>
      panel.queries.map(({ expr, legend }) => ({ board: title, panel: panel.title, expr, legend })),
    ),
  ),
);
/** Their queries return 0 without series: the values must come from the gateway. */
const MUST_MOVE = [
  'Acts',
  'Refused',
  'Reorganisations',
  'Requests to ops',
  'Requests without a valid token',
  'Failed attempts by error',
  'Unmatched deposits',
  'Orders created',
  'Paid',
  'Authorised',
  'Consumed',
];
const numbersOf = (samples: readonly Sample[]) =>
  samples.filter(({ value }) => Number.isFinite(Number(value[1])));

it(
  'every panel shows data of a gateway under load',
  async () => {
    const shown = new Map<(typeof PANELS)[number], readonly Sample[]>();
    const missing = () =>
      PANELS.filter((panel) => !shown.has(panel)).map(
        ({ board, panel, expr }) => `${board}, ${panel}: ${expr}`,
      );
    const lookAt = async (panel: (typeof PANELS)[number]) => {
      const numbers = numbersOf(await query(panel.expr));
      const moves = numbers.some(({ value }) => Number(value[1]) > 0);
      if (MUST_MOVE.includes(panel.panel) ? moves : numbers.length > 0) shown.set(panel, numbers);
    };
    // On a busy machine a query takes more than a second.
    const look = async () => {
      await Promise.all(PANELS.filter((panel) => !shown.has(panel)).map(lookAt));
      return shown.size === PANELS.length;
    };
    await waitUntil('every panel has data', look, WAIT_MS).catch(() => undefined);
    for (const one of PANELS)
      for (const { metric, value } of shown.get(one)?.slice(0, 4) ?? []) {
        const { board, panel, legend } = one;
        const name = legend.replace(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? '-');
        console.info(`${board} | ${panel} | ${name} | ${value[1]}`);
      }
    expect(missing()).toEqual([]);
  },
  TEST_LIMIT_MS,
);

it(
  'Prometheus evaluates every rule, and finds every service',
  async () => {
    interface Rule {
      readonly name: string;
      readonly health: string;
      readonly lastError?: string;
    }
    const rules = async () =>
      (await ask<{ groups: readonly { rules: readonly Rule[] }[] }>('rules')).groups.flatMap(
        (group) => group.rules,
      );
    await waitUntil('all rules evaluated', async () =>
      (await rules()).every(({ health }) => health !== 'unknown'),
    );
    expect((await rules()).filter(({ health }) => health !== 'ok')).toEqual([]);
    expect((await rules()).length).toBeGreaterThan(50);
    const wrong =
      'ALERTS{alertname=~"OpentillTargetDown|Opentill.*Missing|OpentillChainN.*Scanned|OpentillWalletWithoutSigner"}';
    await waitUntil('no service is missing', async () => (await query(wrong)).length === 0, WAIT_MS).catch(
      () => undefined,
    );
    expect(await query(wrong)).toEqual([]);
    const running = await query('count(up == 1)');
    expect(running.map(({ value }) => Number(value[1]))).toEqual([
      SERVICE_NAMES.filter((name) => name !== 'demo-shop').length,
    ]);
  },
  TEST_LIMIT_MS,
);
