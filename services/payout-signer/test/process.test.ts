import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { sql } from 'kysely';
import { evmFamily } from '@opentill/chain-evm/family';
import { queueName } from '@opentill/contracts/topology';
import type { ComposedService } from '@opentill/runtime/run-process';
import { waitUntil } from '@opentill/testkit/wait-until';
import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { publicKeysOf, writePublicKeys } from '@opentill/wallet/public-keys';
import { composePayoutSigner } from '../src/compose.ts';
import { prepareEnvironment, requestPayout } from './nonce/signer-process.ts';
import { createSignerWorld, PASSPHRASE, type SignerWorld } from './nonce/signer-world.ts';

let world: SignerWorld;
let env: Record<string, string>;
const running = new Set<ComposedService>();
beforeAll(async () => {
  world = await createSignerWorld();
  env = await prepareEnvironment(world);
});
afterEach(async () => {
  for (const service of running) await service.stop();
  running.clear();
  vi.restoreAllMocks();
});
afterAll(() => world.close());

async function start(given: Record<string, string> = {}): Promise<ComposedService> {
  const fail = (error: unknown): never => {
    throw error;
  };
  const service = await composePayoutSigner({ ...env, ...given }, { fail, sharesProcess: true });
  running.add(service);
  return service;
}

test('pays a payout that the broker announces, reports it, and prints no secret', async () => {
  const printed: string[] = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
  const service = await start({ LOG_LEVEL: 'debug' });
  const order = await world.payout();
  await requestPayout(world, order);
  await world.land([order]);
  expect(await world.received(order)).toBe(order.amount);
  const broker = await world.broker();
  const queue = queueName('confirmation-tracker', 'payout.changed');
  await waitUntil('reported', async () => (await broker.depth(queue)) > 0);
  const metrics = await service.metrics.render();
  expect(metrics).toMatch(/opentill_signer_payouts_sent_total\{.*chain="ETH_SEPOLIA".*\} 1/);
  await service.stop();
  const { rows } = await sql<{ raw: string }>`select encode(raw, 'hex') as raw from own_transaction`.execute(
    world.admin,
  );
  expect(printed.length).toBeGreaterThan(0);
  for (const secret of [PASSPHRASE, world.walletKey.slice(2), ...rows.map(({ raw }) => raw)]) {
    expect(printed.join('')).not.toContain(secret);
    expect(metrics).not.toContain(secret);
  }
});

test('signs no payout of a test network without a policy outside the local profile', async () => {
  await start({ PROFILE: 'production' });
  const order = await world.payout();
  await world.awaitObstacle(order, 'NO_POLICY');
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
  for (const [given, message] of cases) {
    const starting = composePayoutSigner(
      { ...env, ...given },
      { fail: () => undefined, sharesProcess: true },
    );
    await expect(starting).rejects.toThrow(message);
  }
});

test('refuses to start with an error code when it must not start', async () => {
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
  for (const [given, code] of cases) await expect(start(given)).rejects.toMatchObject({ code });
});
