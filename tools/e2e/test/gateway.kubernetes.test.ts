import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { abortableDelay } from '@opentill/runtime/abortable-delay';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { CallbackReceiver } from '../src/callback-receiver.ts';
import type { ChainCustomers } from '../src/chaos/chain-customers.ts';
import type { Cluster } from '../src/kubernetes/cluster.ts';
import {
  COLD_ON_SUI,
  MONITORING,
  PER_CHAIN,
  PER_FAMILY,
  type InstalledGateway,
} from '../src/kubernetes/install-gateway.ts';
import type { RequestCount } from '../src/kubernetes/keep-paying.ts';
import { REST_WITHIN_MS, startPaidGateway, type PaidGateway } from '../src/kubernetes/paid-gateway.ts';
import { createMerchantClient } from '../src/merchant-client.ts';
import { randomInteger } from '../src/random.ts';
import { runOpentill } from '../src/run-opentill.ts';
import { createSuiUnderTest } from '../src/sui-under-test.ts';
import { createTronUnderTest } from '../src/tron-under-test.ts';

// Installs the chart with local chains in the cluster of OPENTILL_TEST_KUBECONFIG, whose images exist already, and pays
// while pods are replaced, killed and moved. OPENTILL_TEST_HOST is an address of this machine that pods reach.

const SEED = Number(process.env['OPENTILL_E2E_SEED'] ?? 20_261_123);
const KILLS_MS = Number(process.env['OPENTILL_TEST_KILL_SECONDS'] ?? 600) * 1_000;
const INSTALL_WITHIN_MS = 1_200_000;
const LONG_MS = 1_800_000;
const COMPONENTS = [
  'api',
  'scanner-evm',
  'scanner-tron',
  'scanner-sui',
  'confirmation-tracker',
  'webhook-sender',
  'rates',
  'payout-signer',
  'ops',
] as const;

let paid: PaidGateway;
let cluster: Cluster;
let receiver: CallbackReceiver;
let gateway: InstalledGateway;
let customers: readonly [ChainCustomers, ChainCustomers];

beforeAll(async () => {
  paid = await startPaidGateway('trial');
  ({ cluster, receiver, gateway, customers } = paid);
}, INSTALL_WITHIN_MS);

afterAll(async () => paid?.close(), INSTALL_WITHIN_MS);

async function untilPaid(orderId: string): Promise<void> {
  await waitUntil(`${orderId} succeeds`, () =>
    receiver.of(orderId).some(({ notifyType }) => notifyType === 'ORDER_SUCCESS'),
  );
}

async function payWhile(name: string, work: () => Promise<unknown>): Promise<RequestCount> {
  const { count, problems } = await paid.payWhile(name, work);
  expect(problems).toEqual([]);
  return count;
}

/** Instances that hold the lease of a chain. */
async function holders(chain: string): Promise<readonly string[]> {
  const { rows } = await sql<{ holder: string }>`
    select holder from scanner_evm.lease where name = ${`chain:${chain}`}`.execute(gateway.database.kysely);
  return rows.map(({ holder }) => holder);
}

test('opens only the allowed connections', async () => {
  await cluster.helm(['test', 'opentill', '--timeout', '10m']);
  const logs = await cluster.kubectl(['logs', 'opentill-test-stranger']);
  expect(logs).toContain('connects to opentill-api:80');
  expect(logs).toContain('is refused by opentill-postgres:5432');
});

test('opens the health port of the signer only to monitoring', async () => {
  const [pod = ''] = await cluster.podsOf('payout-signer');
  const address = await cluster.kubectl(['get', 'pod', pod, '-o', 'jsonpath={.status.podIP}']);
  const connect = `
    const socket = require('node:net').connect({ host: '${address}', port: 3020, timeout: 5_000 });
    const end = (text) => (console.log(text), socket.destroy());
    socket.on('connect', () => end('opens')).on('timeout', () => end('refused')).on('error', () => end('refused'));`;
  const from = async (name: string) =>
    cluster.kubectl(['exec', `deployment/${name}`, '--', 'node', '-e', connect]);
  await waitUntil('monitoring connects', async () => (await from(MONITORING)).trim() === 'opens');
  expect((await from('bsc-test')).trim()).toBe('refused');
});

describe('under load', () => {
  test(
    'replaces the pods of every Deployment without a failed request',
    async () => {
      const { failed } = await payWhile('rolled', async () => {
        for (const component of COMPONENTS) {
          await cluster.kubectl(['rollout', 'restart', `deployment/opentill-${component}`]);
          await cluster.kubectl([
            'rollout',
            'status',
            `deployment/opentill-${component}`,
            '--timeout',
            '10m',
          ]);
        }
      });
      expect(failed).toEqual([]);
    },
    LONG_MS,
  );

  test(
    'moves scanners to one for each chain and back',
    async () => {
      const { failed } = await payWhile('moved', async () => {
        const count = async (name: string) => (await cluster.podsOf(name)).length;
        await gateway.deploy(PER_CHAIN);
        expect(await count('scanner-eth-sepolia')).toBe(1);
        await waitUntil('the pod of both chains ends', async () => (await count('scanner-evm')) === 0);
        const [lease] = await holders('ETH_SEPOLIA');
        expect(lease).toContain('opentill-scanner-eth-sepolia-');
        await gateway.deploy(PER_FAMILY);
        await waitUntil('the pods of a chain end', async () => (await count('scanner-bsc-test')) === 0);
        for (const chain of ['ETH_SEPOLIA', 'BSC_TEST'])
          expect((await holders(chain))[0]).toMatch(/^opentill-scanner-evm-/);
      });
      expect(failed).toEqual([]);
    },
    LONG_MS,
  );

  test(
    'adds a pod of the api, which an upgrade and a rollback keep',
    async () => {
      const { failed } = await payWhile('scaled', async () => {
        const count = async () => (await cluster.podsOf('api')).length;
        const limits = { minReplicas: 2, maxReplicas: 3, cpuPercent: 5 };
        const scaled = { api: { autoscaling: { enabled: true, ...limits } } };
        await gateway.deploy(PER_FAMILY, scaled);
        await waitUntil('the autoscaler adds a pod', async () => (await count()) === 3, REST_WITHIN_MS);
        const wanted = ['get', 'deployment', 'opentill-api', '-o', 'jsonpath={.spec.replicas}'];
        await gateway.deploy(PER_FAMILY, scaled);
        expect(await cluster.kubectl(wanted)).toBe('3');
        await cluster.helm(['rollback', 'opentill', '--wait', '--timeout', '15m']);
        expect(await cluster.kubectl(wanted)).toBe('3');
        // Helm deletes it last: until then it could undo the number that the upgrade sets.
        await cluster.kubectl(['delete', 'hpa', 'opentill-api']);
        await gateway.deploy(PER_FAMILY);
        await waitUntil('the added pod ends', async () => (await count()) === 2, REST_WITHIN_MS);
      });
      expect(failed).toEqual([]);
    },
    LONG_MS,
  );

  test(
    'loses and doubles nothing while random pods are killed',
    async () => {
      const random = seededRandom(SEED + 3);
      const killed = new Map<string, number>();
      await payWhile('killed', async () => {
        const endsAt = performance.now() + KILLS_MS;
        while (performance.now() < endsAt) {
          const component = COMPONENTS[randomInteger(random, 0, COMPONENTS.length - 1)]!;
          const [pod] = await cluster.podsOf(component);
          if (pod !== undefined) {
            if (component === 'webhook-sender') paid.countSenderFault();
            killed.set(component, (killed.get(component) ?? 0) + 1);
            await cluster.kubectl(['delete', 'pod', pod, '--grace-period=0', '--force', '--wait=false']);
          }
          await abortableDelay(randomInteger(random, 2_000, 10_000));
        }
      });
      process.stderr.write(`killed: ${JSON.stringify(Object.fromEntries(killed))}\n`);
    },
    LONG_MS + KILLS_MS,
  );
});

// After the tests above, whose checker knows only EVM.
describe('other families', () => {
  const chain = (name: string) => ({
    network: gateway.networks.find((network) => network.chain === name)!,
    node: { url: gateway.nodeUrls.get(name)! },
  });

  test('completes a collection and a payout on TRON and SUI, and a sweep on SUI', async () => {
    const merchant = createMerchantClient(gateway.apiUrl, gateway.secret('merchant_token'));
    const sui = createSuiUnderTest(chain('SUI_TEST'));
    const tron = createTronUnderTest(chain('TRON_TEST'));
    for (const [devnet, receiveAddress] of [
      [tron, 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH'],
      [sui, `0x${'5e'.repeat(32)}`],
    ] as const) {
      const terms = { amount: '50', symbol: 'USDT', chain: devnet.chain };
      const { data } = await merchant.createCollection({ ...terms, orderId: `in-${devnet.chain}` });
      await devnet.pay({ to: data?.address ?? '', amount: '50' });
      await untilPaid(`in-${devnet.chain}`);
      const before = await devnet.balance('USDT', receiveAddress);
      const payout = { ...terms, orderId: `out-${devnet.chain}`, receiveAddress };
      // Right after the installation, the hot wallet's funds may not be booked yet.
      const isAccepted = async () => (await merchant.createPayout(payout)).code === 200;
      await waitUntil(`${payout.orderId} is accepted`, isAccepted);
      await untilPaid(`out-${devnet.chain}`);
      expect((await devnet.balance('USDT', receiveAddress)) - before).toBe(devnet.baseUnits('USDT', '50'));
    }
    const sweep = ['sweep', 'run', '--chain', 'SUI_TEST', '--reason', 'the test'];
    // The forwarded pod of ops was replaced: the first connection fails.
    await waitUntil('a sweep is ordered', async () => (await runOpentill(gateway, sweep)).code === 0);
    const swept = async () => (await sui.balance('USDT', COLD_ON_SUI)) === sui.baseUnits('USDT', '50');
    await waitUntil('the deposit is swept to cold storage', swept, REST_WITHIN_MS);
    const done = async () =>
      (await sql`select from sweep where state = 'DONE'`.execute(gateway.database.kysely)).rows.length;
    await waitUntil('the sweep is done', async () => (await done()) === 1);
  }, 600_000);
});

// The last: the gateway then runs on another database.
test(
  'restores a backup into an empty database, and settles an order of it',
  async () => {
    const merchant = createMerchantClient(gateway.apiUrl, gateway.secret('merchant_token'));
    const terms = { amount: '10', symbol: 'USDT', chain: customers[0].chain.chain, expiresIn: 86_400 };
    const { data: kept } = await merchant.createCollection({ ...terms, orderId: 'kept' });
    const inArchive = async (...command: readonly string[]) =>
      cluster.kubectl(['exec', 'deployment/opentill-archive', '--', ...command]);
    const directory = '/var/lib/opentill/backups/monday';
    await cluster.kubectl(['scale', 'deployment/opentill-archive', '--replicas', '1']);
    await cluster.kubectl(['rollout', 'status', 'deployment/opentill-archive', '--timeout', '10m']);
    await inArchive('opentill', 'backup', '--out', directory);
    const services = `app.kubernetes.io/component in (${COMPONENTS.join()})`;
    await cluster.kubectl(['scale', 'deployment', '-l', services, '--replicas', '0']);
    await cluster.kubectl(['wait', '--for=delete', 'pod', '-l', services, '--timeout', '5m']);
    await sql`create database opentill_restored`.execute(gateway.database.kysely);
    const url = 'DATABASE_ADMIN_URL=postgres://opentill@opentill-postgres:5432/opentill_restored';
    const files = ['--keystore', '/tmp/keystore.json', '--policy', '/tmp/policy.sealed.json'];
    const restore = ['opentill', 'restore', '--from', directory, ...files];
    const report = await inArchive('env', url, ...restore, '--public-keys', '/tmp/public-keys.json');
    expect(report).toMatch(/[1-9]\d* wallets are held/);
    await gateway.deploy(PER_FAMILY, { database: { name: 'opentill_restored' } });
    await customers[0].pay({ to: kept?.address ?? '', amount: '10', symbol: 'USDT' });
    await untilPaid('kept');
  },
  LONG_MS,
);
