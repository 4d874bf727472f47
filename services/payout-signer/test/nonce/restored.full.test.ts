import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sql } from 'kysely';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { PayoutStore } from '../../src/nonce/store/payout-store.ts';
import { backUp } from './back-up.ts';
import { checkChain } from './check-chain.ts';
import { createSignerWorld, type DriverOptions, type SignerWorld } from './signer-world.ts';

// The worst cases of restore-model.full.test.ts on a real chain, and each safeguard separately.

let world: SignerWorld;
let elsewhere: string;
beforeEach(async () => {
  [world, elsewhere] = await Promise.all([
    createSignerWorld(),
    mkdtemp(join(tmpdir(), 'payout-signer-elsewhere-')),
  ]);
});
afterEach(async () => {
  await world.close();
  await rm(elsewhere, { recursive: true });
});

/** After the restore payouts get other nonces than before. */
const otherOrder = (store: PayoutStore): PayoutStore => ({
  ...store,
  async readView(options) {
    const view = await store.readView(options);
    return { ...view, requested: view.requested.toReversed(), unsigned: view.unsigned.toReversed() };
  },
});

async function startCutOff(options: DriverOptions = {}): Promise<{ connect(): void }> {
  let isCutOff = true;
  await world.start({
    ...options,
    sender: (sender) => ({
      ...sender,
      broadcast: (signed, given) =>
        isCutOff ? Promise.resolve(signed.map(() => 'UNKNOWN' as const)) : sender.broadcast(signed, given),
    }),
  });
  return { connect: () => void (isCutOff = false) };
}

async function signedNow(): Promise<{ raw: string; purpose: string; order_pk: string | null }[]> {
  const { rows } = await sql<{ raw: Buffer; purpose: string; order_pk: string | null }>`
    select raw, purpose, order_pk from own_transaction order by nonce, signed_at`.execute(world.admin);
  return rows.map(({ raw, ...row }) => ({ ...row, raw: `0x${raw.toString('hex')}` }));
}
const send = (raw: string) => callRpc(world.rpcUrl, 'eth_sendRawTransaction', [raw]);

async function signAndRestore(orders: readonly OrderRow[], restore: () => Promise<void>): Promise<string[]> {
  const known = (await signedNow()).length;
  const runner = await world.start();
  for (const order of orders) await waitUntil('sent', async () => (await world.payoutOf(order)).sent);
  await runner.stop();
  const signed = await signedNow();
  const raws = orders.flatMap(
    ({ order_pk: orderPk }) => signed.find((one) => one.order_pk === orderPk)?.raw ?? [],
  );
  expect(raws).toHaveLength(orders.length);
  await restore();
  expect(await signedNow()).toHaveLength(known);
  return raws;
}

const halts = async () => {
  const { rows } = await sql<{ kind: string; mark: number | null }>`
    select kind, mark from wallet_halt where released_at is null order by kind`.execute(world.admin);
  return rows;
};
const isHalted = (kind: string, blocks = 1) =>
  waitUntil(`halted: ${kind}`, async () => {
    if (blocks > 0) await world.mine(blocks);
    return (await halts()).some((halt) => halt.kind === kind);
  });
const release = () =>
  sql`update wallet_halt set released_at = now(), released_by = 'test', released_reason = 'looked'
    where released_at is null`.execute(world.admin);
const expire = async (orders: readonly OrderRow[]) =>
  (
    await sql`select * from expire_payouts(${orders.map(({ order_pk: orderPk }) => orderPk)}::uuid[])`.execute(
      world.admin,
    )
  ).rows.length;
const isDecided = (order: OrderRow) =>
  waitUntil('decided', async () => {
    await world.mine();
    return (await world.decisionsOf(order)).every(({ outcome }) => outcome !== null);
  });

async function threeForgotten(): Promise<{ orders: OrderRow[]; first: string }> {
  const orders = [await world.payout(), await world.payout(), await world.payout()];
  const raws = await signAndRestore(orders, await backUp(world));
  await callRpc(world.rpcUrl, 'anvil_dropAllTransactions', []);
  return { orders, first: raws[0] ?? '' };
}

test("pays once what lands after chain and pools forgot it, by the machine's mark", async () => {
  const { orders, first } = await threeForgotten();
  const { connect } = await startCutOff({ store: otherOrder });
  await isHalted('RESTORED');
  expect(await halts()).toEqual([{ kind: 'RESTORED', mark: 2 }]);
  await world.mine(3);
  await world.scannerAtHead();
  expect(await signedNow()).toEqual([]);
  // The operator finds no payment on the chain and releases. No payout gets a used nonce.
  await release();
  await waitUntil('gap fillers are signed', async () => (await signedNow()).length === 3);
  expect((await signedNow()).map(({ purpose }) => purpose)).toEqual(['CANCEL', 'CANCEL', 'CANCEL']);
  await send(first);
  await world.mine();
  connect();
  await isHalted('FOREIGN_NONCE');
  const [paid = orders[0]!, ...others] = orders;
  const txHash = await callRpc<string>(world.rpcUrl, 'web3_sha3', [first]);
  await world.decide(paid, { decision: 'PAID_BY', txHash });
  await isDecided(paid);
  expect(await world.decisionsOf(paid)).toEqual([{ outcome: 'DONE', detail: null }]);
  await release();
  await world.land(others);
  expect(await checkChain(world, orders)).toEqual({ payouts: 3, wrong: [] });
  expect((await world.nonces()).map(({ state, purpose }) => `${state} ${purpose}`)).toEqual([
    'TAKEN CANCEL',
    'FINAL CANCEL',
    'FINAL CANCEL',
    'FINAL PAYOUT',
    'FINAL PAYOUT',
  ]);
});

test('finds a double payment without the mark after chain and pools forgot a send', async () => {
  const { orders, first } = await threeForgotten();
  const { connect } = await startCutOff({ store: otherOrder, stateDirectory: elsewhere });
  await waitUntil('signed anew', async () => (await signedNow()).length === 3);
  const [twice = orders[0]!] = orders;
  expect((await world.noncesOf(twice)).map(({ nonce }) => nonce)).not.toContain(0);
  await send(first);
  await world.mine();
  connect();
  await waitUntil('paid twice', async () => {
    await world.mine();
    return (await world.received(twice)) === 2n * twice.amount;
  });
  const { wrong } = await checkChain(world, orders);
  expect(wrong).toContain(`${twice.order_id}: ${twice.amount} and ${twice.amount}`);
});

test('halts without a mark when the chain is ahead, and repeats no payout', async () => {
  const before = await world.payout();
  const runner = await world.start();
  await world.land([before]);
  await runner.stop();
  const inASecond = { expires_at: new Date(Date.now() + 3_000) };
  const paid = [await world.payout(), await world.payout(inASecond)];
  await signAndRestore(paid, await backUp(world));
  const fresh = await world.payout();
  await world.start({ store: otherOrder, stateDirectory: elsewhere, timing: { aheadHaltAfterMs: 150 } });
  await waitUntil('seen', async () => (await world.payoutOf(fresh)).obstacle === 'CHAIN_AHEAD');
  await isHalted('RESTORED', 0);
  expect(await halts()).toEqual([{ kind: 'RESTORED', mark: 2 }]);
  await isHalted('FOREIGN_NONCE');
  await waitUntil('its time is over', () => Date.now() > inASecond.expires_at.getTime());
  expect(await expire(paid)).toBe(0);
  expect(await signedNow()).toHaveLength(1);
  for (const order of paid) {
    const found = await findPayment(order);
    await world.decide(order, { decision: 'PAID_BY', txHash: found });
    await isDecided(order);
    expect(await world.decisionsOf(order)).toEqual([{ outcome: 'DONE', detail: null }]);
  }
  await release();
  await world.land([fresh]);
  expect(await checkChain(world, [before, ...paid, fresh])).toEqual({ payouts: 4, wrong: [] });
  expect((await world.nonces()).map(({ state }) => state)).toEqual(['FINAL', 'TAKEN', 'TAKEN', 'FINAL']);
});

async function findPayment(order: OrderRow): Promise<string> {
  const logs = await callRpc<{ transactionHash: string }[]>(world.rpcUrl, 'eth_getLogs', [
    {
      fromBlock: '0x1',
      toBlock: 'latest',
      topics: [null, null, `0x${order.address.slice(2).padStart(64, '0')}`],
    },
  ]);
  expect(logs).toHaveLength(1);
  return logs[0]?.transactionHash ?? '';
}
