import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { getAddress, hexlify, randomBytes } from 'ethers';
import { findFreePort } from '@opentill/test-servers/free-port';
import type { ProcessGroup } from '@opentill/test-servers/process-group';
import { startSmallProcess } from '@opentill/local/start-small-gateway';
import { startGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { CONFIRMING, CREATED, PAID, PENDING, untilStory } from '../src/stories.ts';

const PAID_WITHIN_MS = 30_000;
const STOPPED_WITHIN_MS = 10_000;

let test: GatewayUnderTest;
let gateway: ProcessGroup;
let signer: ProcessGroup;

beforeAll(async () => {
  // Separate processes only write the networks' configuration; the two small processes replace them.
  test = await startGatewayUnderTest({ services: ['payout-signer', 'scanner-tron'] });
  await test.gateway.stopService('payout-signer');
  await test.gateway.stopService('scanner-tron');
  [gateway, signer] = await Promise.all([
    startSmallProcess(test.gateway, 'gateway'),
    startSmallProcess(test.gateway, 'signer'),
  ]);
});
afterAll(async () => {
  await Promise.all([gateway.stop(), signer.stop()]);
  await test.stop();
});

const healthOf = async (path: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${test.gateway.environmentOf('api')['HEALTH_PORT']}${path}`);

it('two processes complete a collection and a payout', async () => {
  const chain = test.chains.ETH_SEPOLIA;
  const fields = { amount: '100', symbol: 'USDT', chain: chain.chain };
  const collection = await test.merchant.createCollection({ orderId: test.newOrderId(), ...fields });
  await chain.pay({ to: collection.data!.address, amount: '100' });
  const receiveAddress = getAddress(hexlify(randomBytes(20)));
  const payout = await test.merchant.createPayout({
    orderId: test.newOrderId(),
    ...fields,
    amount: '12.5',
    receiveAddress,
  });
  expect(payout).toMatchObject({ httpStatus: 200, code: 200 });
  await untilStory(test.receiver, collection.data!, [CREATED, CONFIRMING, PAID], PAID_WITHIN_MS);
  await untilStory(test.receiver, payout.data!, [CREATED, PENDING, CONFIRMING, PAID], PAID_WITHIN_MS);
  expect(await chain.balance('USDT', receiveAddress)).toBe(chain.baseUnits('USDT', '12.5'));
  expect(await test.findProblems()).toEqual([]);
});

it('one port shows the readiness of eight services, and each metric by service', async () => {
  const readiness = (await (await healthOf('/readyz')).json()) as { status: string; checks: object };
  expect(readiness.status).toBe('ready');
  const services = Object.keys(readiness.checks).map((check) => check.split(':', 1)[0]);
  expect([...new Set(services)]).toEqual([
    'api',
    'scanner-evm',
    'scanner-tron',
    'scanner-sui',
    'confirmation-tracker',
    'webhook-sender',
    'rates',
    'ops',
  ]);
  const text = await (await healthOf('/metrics')).text();
  expect(text).toMatch(/^opentill_api_orders_created_total\{[^}]*service="api"[^}]*\} [12]$/m);
  expect(text.match(/^process_resident_memory_bytes.*/gm)).toEqual([
    expect.stringMatching(/^process_resident_memory_bytes\{service="gateway"\} \d+$/),
  ]);
  const types = text.match(/^# TYPE \S+/gm) ?? [];
  expect(new Set(types).size).toBe(types.length);
  expect((await fetch(`${test.gateway.opsUrl}/v1/payouts`)).status).toBe(401);
});

it('the public process has no keystore settings, the signer no secrets of others', () => {
  const environment = (pid: number): string => readFileSync(`/proc/${pid}/environ`, 'utf8');
  expect(environment(gateway.pid)).not.toMatch(/KEYSTORE|PASSPHRASE/);
  expect(environment(signer.pid)).toMatch(/KEYSTORE_FILE/);
  expect(environment(signer.pid)).not.toMatch(/SECRETS_KEY|OPS_|API_/);
});

it('the process exits if one of its services cannot start', async () => {
  const second = startSmallProcess(test.gateway, 'gateway', {
    HEALTH_PORT: `${await findFreePort()}`,
    API_PORT: '0', // the port of ops is taken
  });
  await expect(second).rejects.toMatchObject({ code: 'PROCESS_EXITED_EARLY' });
  expect((await healthOf('/readyz')).status).toBe(200);
});

it('both processes stop cleanly within 10 s', async () => {
  const startedAt = performance.now();
  for (const group of [gateway, signer]) group.signal('SIGTERM');
  expect(await Promise.all([gateway.exited, signer.exited])).toEqual([
    { code: 0, signal: null },
    { code: 0, signal: null },
  ]);
  expect(performance.now() - startedAt).toBeLessThan(STOPPED_WITHIN_MS);
});
