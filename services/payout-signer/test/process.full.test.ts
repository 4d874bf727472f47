import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { sql } from 'kysely';
import { queueName } from '@opentill/contracts/topology';
import { waitUntil } from '@opentill/testkit/wait-until';
import { evmFamily } from '@opentill/chain-evm/family';
import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { publicKeysOf, writePublicKeys } from '@opentill/wallet/public-keys';
import { createTronWorld, type TronWorld } from './expiring/tron-world.ts';
import {
  prepareEnvironment,
  requestPayout,
  startProcess,
  type SignerProcess,
} from './nonce/signer-process.ts';
import { createSignerWorld, PASSPHRASE, type SignerWorld } from './nonce/signer-world.ts';
import { TIMEOUT_MS } from './world/quick-timing.ts';

let world: SignerWorld | TronWorld;
const running = new Set<SignerProcess>();
afterEach(async () => {
  for (const { child, ended } of running) {
    child.kill('SIGKILL');
    await ended;
  }
  running.clear();
  await world.close();
});

async function start(env: Record<string, string>): Promise<SignerProcess> {
  const started = await startProcess(env);
  running.add(started);
  return started;
}

test.each([
  ['an EVM chain', createSignerWorld],
  ['TRON', createTronWorld],
] as const)('the process pays on %s, reports it, and exits with 0', async (_, createWorld) => {
  world = await createWorld();
  const signer = await start({ ...(await prepareEnvironment(world)), LOG_LEVEL: 'debug' });
  await waitUntil('ready', signer.isReady, 2 * TIMEOUT_MS);
  const order = await world.payout();
  await requestPayout(world, order);
  // Otherwise blocks could expire the transaction of a slow process before the send.
  await world.isSent(order);
  await world.land([order]);
  expect(await world.received(order)).toBe(order.amount);
  const broker = await world.broker();
  const queue = queueName('confirmation-tracker', 'payout.changed');
  await waitUntil('reported', async () => (await broker.depth(queue)) > 0);
  const metrics = await (await fetch(`http://127.0.0.1:${signer.healthPort}/metrics`)).text();
  const { chain, family } = world.network;
  expect(metrics).toMatch(new RegExp(`opentill_signer_payouts_sent_total\\{.*chain="${chain}".*\\} 1`));
  if (family === 'TRON')
    expect(metrics).toMatch(/opentill_signer_payout_alarm_bool\{.*kind="new-block-keys".*\} 0/);

  signer.child.kill('SIGTERM');
  expect(await signer.ended).toBe(0);
  const { rows } = await sql<{ raw: string }>`select encode(raw, 'hex') as raw from own_transaction`.execute(
    world.admin,
  );
  expect(rows).toHaveLength(1);
  for (const secret of [PASSPHRASE, world.walletKey.replace('0x', ''), ...rows.map(({ raw }) => raw)]) {
    expect(signer.output()).not.toContain(secret);
    expect(metrics).not.toContain(secret);
  }
});

test('the process exits with 1 and prints the error code when it must not start', async () => {
  const evm = await createSignerWorld();
  world = evm;
  const env = await prepareEnvironment(evm);
  const wrong = join(evm.dir, 'wrong-passphrase');
  await writeFile(wrong, 'another passphrase', { mode: 0o600 });
  const foreign = join(evm.dir, 'foreign-public-keys.json');
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
      const signer = await start({ ...env, ...given });
      return { code, ended: await signer.ended, isPrinted: signer.output().includes(code) };
    }),
  );
  expect(ends).toEqual(cases.map(([, code]) => ({ code, ended: 1, isPrinted: true })));
});
