import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { waitUntil } from '@opentill/testkit/wait-until';
import { evmFamily } from '@opentill/chain-evm/family';
import { queueName } from '@opentill/contracts/topology';
import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { publicKeysOf, writePublicKeys } from '@opentill/wallet/public-keys';
import { composePayoutSigner } from '../src/compose.ts';
import { PATIENCE_MS } from './quick-timing.ts';
import { prepareEnvironment, startProcess, type SignerProcess } from './nonce/signer-process.ts';
import { createSignerWorld, PASSPHRASE, type SignerWorld } from './nonce/signer-world.ts';

let world: SignerWorld;
let rabbit: TestBroker;
let env: Record<string, string>;
const running = new Set<SignerProcess>();
beforeAll(async () => {
  [world, rabbit] = await Promise.all([createSignerWorld(), createTestBroker()]);
  env = await prepareEnvironment(world, await rabbit.urlFor('payout-signer'));
});
afterEach(async () => {
  for (const { child, ended } of running) {
    child.kill('SIGKILL');
    await ended;
  }
  running.clear();
});
afterAll(async () => {
  await rabbit.drop();
  await world.close();
});

async function start(given: Record<string, string> = {}): Promise<SignerProcess> {
  const started = await startProcess({ ...env, ...given });
  running.add(started);
  return started;
}

test('the process pays what the broker tells it of, tells of it, and ends cleanly', async () => {
  const signer = await start({ LOG_LEVEL: 'debug' });
  await waitUntil('ready', signer.isReady, 2 * PATIENCE_MS);
  const order = await world.payout();
  const event = {
    id: order.order_pk,
    type: 'payout.requested',
    version: 1,
    occurredAt: new Date().toISOString(),
    data: { orderPk: order.order_pk },
  };
  await rabbit.publish('payout.requested.evm', JSON.stringify(event));
  await world.land([order]);
  expect(await world.received(order)).toBe(order.amount);
  const queue = queueName('confirmation-tracker', 'payout.changed');
  await waitUntil('told', async () => (await rabbit.depth(queue)) > 0);
  const metrics = await (await fetch(`http://127.0.0.1:${signer.healthPort}/metrics`)).text();
  expect(metrics).toMatch(/opentill_signer_payouts_sent_total\{.*chain="ETH_SEPOLIA".*\} 1/);

  signer.child.kill('SIGTERM');
  expect(await signer.ended).toBe(0);
  // No key, no passphrase, no signed bytes: neither in the log nor in the metrics.
  const { rows } = await sql<{ raw: string }>`select encode(raw, 'hex') as raw from own_transaction`.execute(
    world.admin,
  );
  for (const secret of [PASSPHRASE, world.walletKey.slice(2), ...rows.map(({ raw }) => raw)]) {
    expect(signer.output()).not.toContain(secret);
    expect(metrics).not.toContain(secret);
  }
});

test('it signs nothing for a test network without a policy outside the local profile', async () => {
  await start({ PROFILE: 'production' });
  const order = await world.payout();
  await waitUntil(
    'NO_POLICY',
    async () => (await world.payoutOf(order)).obstacle === 'NO_POLICY',
    2 * PATIENCE_MS,
  );
  expect(await world.payoutOf(order)).toMatchObject({ state: 'REQUESTED' });
});

test('refuses to start with unsafe networks, sources or profile', async () => {
  const main = { ...world.network, chain: 'ETH', chainId: 1 };
  const twice = ['http://node.example:1', 'http://node.example:2'];
  const write = async (name: string, ...networks: readonly object[]) => {
    const NETWORKS_FILE = join(dirname(world.keystoreFile), name);
    await writeFile(NETWORKS_FILE, JSON.stringify({ networks }));
    return { NETWORKS_FILE };
  };
  const production = { PROFILE: 'production' };
  const cases: readonly (readonly [Record<string, string>, string])[] = [
    [
      { ...(await write('mixed.json', main, world.network)), ...production },
      'whose wallets have different keys',
    ],
    [await write('main.json', main), 'the network file enables ETH. Set PROFILE=production'],
    [
      { ...(await write('one-host.json', { ...main, rpcUrls: twice })), ...production },
      'ETH: two sources have the host node.example. Name sources of different hosts in ETH_RPC_URLS',
    ],
    [
      {
        ...(await write('plain.json', { ...main, rpcUrls: twice })),
        ...production,
        SOURCE_RISKS_ACCEPTED: 'same-host',
      },
      'ETH: plain http to node.example. Use https in ETH_RPC_URLS',
    ],
  ];
  for (const [given, says] of cases) {
    const starting = composePayoutSigner(
      { ...env, ...given },
      { fail: () => undefined, sharesProcess: true },
    );
    await expect(starting).rejects.toThrow(says);
  }
});

test('it refuses to start, with the code for operators, where it must not', async () => {
  const wrong = join(dirname(world.keystoreFile), 'wrong-passphrase');
  await writeFile(wrong, 'another passphrase', { mode: 0o600 });
  const foreign = join(dirname(world.keystoreFile), 'foreign-public-keys.json');
  await writePublicKeys(foreign, publicKeysOf(seedOf(generateMnemonic()), [evmFamily.addressCodec]));
  const cases: readonly (readonly [Record<string, string>, string])[] = [
    [
      { WALLET_MNEMONIC: 'test test test test test test test test test test test junk' },
      'SECRET_IN_ENVIRONMENT',
    ],
    [{ PASSPHRASE_FILE: wrong }, 'KEYSTORE_WRONG_PASSPHRASE'],
    [{ PUBLIC_KEYS_FILE: foreign }, 'PUBLIC_KEYS_OF_ANOTHER_SEED'],
  ];
  const ends = await Promise.all(
    cases.map(async ([given, code]) => {
      const signer = await start(given);
      return { code, ended: await signer.ended, says: signer.output().includes(code) };
    }),
  );
  expect(ends).toEqual(cases.map(([, code]) => ({ code, ended: 1, says: true })));
});
