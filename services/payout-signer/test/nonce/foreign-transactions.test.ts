import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import { evmFamily } from '@opentill/chain-evm/family';
import { encodePayment } from '@opentill/chain-evm/sender/encode-payment';
import { keepLease } from '@opentill/db/lease';
import { sendTransaction } from '@opentill/devnets/evm/transactions';
import { baseUnits } from '@opentill/domain/money';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { judgeByPolicy } from '../../src/policy/judge-by-policy.ts';
import { openNonceMark } from '../../src/nonce/nonce-mark.ts';
import { createObserve } from '../../src/observe/create-observe.ts';
import { createPass } from '../../src/nonce/pass.ts';
import type { Pass } from '../../src/wallet/pass.ts';
import { createPayoutStore } from '../../src/nonce/store/create-store.ts';
import { CHAIN, createSignerWorld, QUICK, type RunningDriver, type SignerWorld } from './signer-world.ts';

let world: SignerWorld;
let drivers: RunningDriver[] = [];
beforeAll(async () => {
  world = await createSignerWorld();
});
afterEach(async () => {
  for (const driver of drivers) await driver.stop();
  drivers = [];
});
afterAll(() => world.close());

const start = async (...given: Parameters<SignerWorld['start']>): Promise<RunningDriver> => {
  const driver = await world.start(...given);
  drivers.push(driver);
  return driver;
};
const isHalted = async () => {
  const { rows } = await sql<{ reason: string }>`
    select reason from wallet_halt where kind = 'FOREIGN_NONCE' and released_at is null`.execute(world.admin);
  return rows.length === 1;
};
const release = () =>
  sql`update wallet_halt set released_at = now(), released_by = 'test', released_reason = 'it was us'
    where released_at is null`.execute(world.admin);
async function expectLandedOnce(orders: readonly OrderRow[]): Promise<void> {
  await world.land(orders);
  for (const order of orders) expect(await world.received(order)).toBe(order.amount);
}
const payWithKey = async (order: OrderRow, nonce: number): Promise<string> => {
  const { rpcUrl, walletKey: fromKey } = world;
  const { to, data } = encodePayment({
    from: world.wallet,
    contract: order.contract_address as TokenContract,
    to: order.address as Address,
    amountBaseUnits: baseUnits(order.amount),
  });
  return sendTransaction({ rpcUrl, fromKey, to, data, nonce });
};
const useKey = (nonce: number) =>
  sendTransaction({ rpcUrl: world.rpcUrl, fromKey: world.walletKey, to: world.wallet, valueWei: 1n, nonce });

describe('foreign transaction', () => {
  test("halts when a foreign transaction took a payout's nonce, then signs it again", async () => {
    let isCutOff = true;
    await start({
      sender: (sender) => ({
        ...sender,
        broadcast: (signed, options) =>
          isCutOff
            ? Promise.resolve(signed.map(() => 'UNKNOWN' as const))
            : sender.broadcast(signed, options),
      }),
    });
    const order = await world.payout();
    await waitUntil('signed', async () => (await world.payoutOf(order)).sent);
    await useKey(0);
    await world.mine();
    isCutOff = false;
    await world.mineUntil('halted', isHalted);
    expect((await world.noncesOf(order)).map(({ state }) => state)).toEqual(['TAKEN']);
    const waiting = await world.payout();
    await waitUntil('stopped', async () => (await world.payoutOf(waiting)).obstacle === 'HALTED');
    expect(await world.transactionsOf(order)).toHaveLength(1);
    const { rows } =
      await sql`select from incident where kind = 'FOREIGN_NONCE' and closed_at is null`.execute(world.admin);
    expect(rows).toHaveLength(1);
    await release();
    await expectLandedOnce([waiting]);
    expect(await world.transactionsOf(order)).toHaveLength(1);
    expect(await world.payoutOf(order)).toMatchObject({ state: 'SIGNED', obstacle: 'NEEDS_DECISION' });
    await world.decide(order, { decision: 'PAY_AGAIN', nonce: 0 });
    await expectLandedOnce([order]);
    expect(await world.decisionsOf(order)).toEqual([{ outcome: 'DONE', detail: null }]);
    expect((await world.noncesOf(order)).map(({ state }) => state)).toEqual(['TAKEN', 'FINAL']);
  });

  test('assigns a payment to a payout by a decision only if all fields match', async () => {
    const amount = 7_000_000n;
    await start({
      sender: (sender) => ({
        ...sender,
        broadcast: (signed) => Promise.resolve(signed.map(() => 'UNKNOWN' as const)),
      }),
    });
    const order = await world.payout({ amount, accepted_amount: amount });
    const other = await world.payout();
    await waitUntil('signed', async () => (await world.payoutOf(other)).sent);
    // The lost process paid the first with other bytes and its nonce. It used the second's nonce elsewhere.
    const [{ nonce } = { nonce: -1 }] = await world.noncesOf(order);
    const paid = await payWithKey(order, nonce);
    await useKey(nonce + 1);
    // The signer searches the nonces from the first block it sees, so more blocks must follow it.
    await world.mineUntil('halted', isHalted);
    await waitUntil('taken', async () => (await world.noncesOf(other))[0]?.state === 'TAKEN');
    await world.decide(other, { decision: 'PAID_BY', txHash: paid });
    await waitUntil('not this payment', async () => (await world.decisionsOf(other))[0]?.outcome !== null);
    expect(await world.decisionsOf(other)).toMatchObject([{ outcome: 'NOT_POSSIBLE' }]);
    // A payment that a restore booked as a withdrawal would be booked twice.
    const restore = newId();
    await sql`
      insert into restoration (restore_id, backup_id, taken_at) values (${restore}, 'test', now())`.execute(
      world.admin,
    );
    await sql`
      insert into forgotten_payment (chain, tx_hash, restore_id, wallet, nonce, raw, block_height, block_time, decision, decided_by)
      values (${CHAIN}, ${paid}, ${restore}, ${world.wallet}, ${nonce}, '', 1, now(), 'ORDER_LOST', 'test')`.execute(
      world.admin,
    );
    await world.decide(order, { decision: 'PAID_BY', txHash: paid });
    await waitUntil('left to the restore', async () => (await world.decisionsOf(order))[0]?.outcome !== null);
    expect(await world.decisionsOf(order)).toEqual([
      { outcome: 'NOT_POSSIBLE', detail: expect.stringContaining('restore decide-payment') },
    ]);
    await sql`delete from forgotten_payment`.execute(world.admin);
    await world.decide(order, { decision: 'PAID_BY', txHash: paid });
    await waitUntil('adopted', async () => (await world.transactionsOf(order)).length === 2);
    expect((await world.transactionsOf(order)).map(({ tx_hash: txHash }) => txHash)).toContain(paid);
    expect((await world.decisionsOf(order)).at(-1)).toEqual({ outcome: 'DONE', detail: null });
    expect(await world.payoutOf(order)).toMatchObject({ state: 'SIGNED', obstacle: null });
    await drivers.pop()?.stop();
    await release();
    await world.decide(other, { decision: 'PAY_AGAIN', nonce: nonce + 1 });
    await start();
    await expectLandedOnce([other]);
    expect(await world.received(order)).toBe(amount);
    expect((await world.noncesOf(order)).map(({ state }) => state)).toEqual(['TAKEN']);
  });

  test('halts the wallet for a foreign transaction with an unreserved nonce', async () => {
    const next = (await world.nonces()).length;
    await useKey(next);
    await useKey(next + 1);
    await world.mine();
    await world.scannerAtHead();
    await start();
    const order = await world.payout();
    await waitUntil('seen', async () => (await world.payoutOf(order)).obstacle === 'CHAIN_AHEAD');
    await world.mine(3);
    await waitUntil('halted', isHalted);
    expect((await world.nonces()).slice(next)).toMatchObject([{ state: 'TAKEN' }, { state: 'TAKEN' }]);
    await release();
    await expectLandedOnce([order]);
    expect(await world.noncesOf(order)).toEqual([{ nonce: next + 2, state: 'FINAL' }]);
  });
});

describe('signer without the lease', () => {
  test('does not write after it slept through the loss of the lease at any step', async () => {
    const database = world.database.open('signer');
    const key = { chain: CHAIN, wallet: world.wallet } as const;
    const lease = (holder: string) =>
      keepLease({ db: database.kysely, schema: 'signer', name: 'wallet/asleep', holder, ttlMs: 50 });
    const plain = createPayoutStore(database.kysely, key, { newId, clock: systemClock });
    const steps = ['authorise', 'saveSigned', 'recordSent'] as const;
    for (const step of steps) {
      const order = await world.payout();
      const asleep = lease('asleep');
      let wake = (): void => undefined;
      let fellAsleep = false;
      const sleeping = new Promise<void>((resolve) => (wake = resolve));
      const store = {
        ...plain,
        [step]: async (...given: never[]) => {
          fellAsleep = true;
          await sleeping;
          return (plain[step] as (...args: never[]) => Promise<unknown>)(...given);
        },
      };
      const held = await asleep.acquire();
      const pass = passOf(world, store);
      // A pass whose node does not answer in time leaves its remaining steps to the next.
      const first = (async () => {
        while (!fellAsleep) await pass(held!, new AbortController().signal);
      })();
      await waitUntil('asleep', () => fellAsleep);
      const awake = lease('awake');
      await waitUntil('taken over', async () => (await awake.acquire()) !== undefined);
      const second = passOf(world, plain);
      for (let i = 0; i < 3; i += 1) await second(awake.current()!, new AbortController().signal);
      const before = [await world.transactionsOf(order), await world.nonces()];
      wake();
      await expect(first).rejects.toMatchObject({ code: 'LEASE_LOST' });
      expect([await world.transactionsOf(order), await world.nonces()]).toEqual(before);
      await awake.release();
      await start();
      await expectLandedOnce([order]);
      await drivers.pop()?.stop();
    }
    await database.close();
  });
});

describe('payout that expires while it is being signed', () => {
  const expire = async (orders: readonly OrderRow[]): Promise<number> => {
    const { rows } =
      await sql`select * from expire_payouts(${orders.map((order) => order.order_pk)}::uuid[])`.execute(
        world.admin,
      );
    return rows.length;
  };

  test('expires a payout before its signature and signs others without a nonce gap', async () => {
    const [short, long] = [
      [await world.payout(), await world.payout()],
      [await world.payout(), await world.payout()],
    ];
    let saves = 0;
    let expired = 0;
    await start({
      store: (store) => ({
        ...store,
        async saveSigned(...given) {
          saves += 1;
          if (saves === 1) {
            await sql`update payout set expires_at = clock_timestamp() - interval '1 second'
              where order_pk = any(${short.map((order) => order.order_pk)}::uuid[])`.execute(world.admin);
            expired = await expire([...short, ...long]);
          }
          return store.saveSigned(...given);
        },
      }),
    });
    await expectLandedOnce(long);
    expect(expired).toBe(2);
    for (const order of short) {
      expect(await world.payoutOf(order)).toMatchObject({ state: 'EXPIRED', reason: 'Payout expired' });
      expect(await world.received(order)).toBe(0n);
      expect(await world.transactionsOf(order)).toEqual([]);
    }
    const held = (await world.nonces()).filter(
      ({ state, order_pk: pk }) => state === 'RESERVED' && pk !== null,
    );
    expect(held).toEqual([]);
  });

  test('never expires a payout that was signed first', async () => {
    const order = await world.payout();
    await start();
    await waitUntil('signed', async () => (await world.payoutOf(order)).state === 'SIGNED');
    await sql`update payout set expires_at = clock_timestamp() - interval '1 second' where order_pk = ${order.order_pk}`.execute(
      world.admin,
    );
    expect(await expire([order])).toBe(0);
    await expectLandedOnce([order]);
  });
});

function passOf(
  { network, newSender, keys, wallet }: SignerWorld,
  store: ReturnType<typeof createPayoutStore>,
): Pass {
  const logger = createLogger({ service: 'payout-signer', level: 'silent' });
  return createPass({
    key: { chain: CHAIN, wallet },
    terms: { maxOpenNonces: 16, lowGasBaseUnits: undefined, lowBalance: new Map(), float: new Map() },
    rules: {
      network,
      codec: evmFamily.addressCodec,
      ownWallets: keys.addresses,
      isDepositAddress: () => false,
      policy: judgeByPolicy(undefined, 'test', { isLocal: true }),
    },
    store,
    sender: newSender(),
    reader: evmFamily.createReader(network, {}),
    observe: createObserve({ logger, metrics: createMetrics('payout-signer') }),
    mark: openNonceMark(world.stateDirectory, { chain: CHAIN, wallet }),
    readClocks: () => Promise.resolve(undefined),
    monotonicMs: () => performance.now(),
    timing: QUICK,
    onCommitted: () => undefined,
  });
}
