import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { SendOutcome } from '@opentill/chain/wallet-sender';
import { DEPLOYER_INDEX, devAccount } from '@opentill/devnets/evm/accounts';
import { callContract, dropTransaction, reorg } from '@opentill/devnets/evm/start-evm-devnet';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { CHAIN, USDT } from './signer-world.ts';
import { createCallbackWorld, type CallbackWorld } from './callback-world.ts';

const STRAIGHT = [
  'ORDER_PENDING PENDING',
  'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION',
  'ORDER_SUCCESS SUCCESS',
];
const [SENT = '', IN_BLOCK = '', PAID = ''] = STRAIGHT;
const TAKEN_BACK = 'ORDER_PENDING PENDING Reorganised';

let world: CallbackWorld;
beforeAll(async () => {
  world = await createCallbackWorld();
});
afterEach(() => world.rest());
afterAll(() => world.close());

const newest = async (order: OrderRow) => (await world.transactionsOf(order)).at(-1);
const isNotified = (order: OrderRow, last: string) =>
  waitUntil(last, async () => (await world.story(order)).at(-1) === last);
async function isInBlock(order: OrderRow): Promise<void> {
  await waitUntil('in a block', async () => {
    const txHash = (await newest(order))?.tx_hash;
    if ((await callRpc<unknown>(world.rpcUrl, 'eth_getTransactionReceipt', [txHash])) !== null) return true;
    await world.mine();
    return false;
  });
  await isNotified(order, IN_BLOCK);
}

async function depthOf(order: OrderRow): Promise<number> {
  const { rows } = await sql<{ height: number }>`
    select f.block_height as height from own_transaction_fate f join own_transaction t using (chain, tx_hash)
    where t.order_pk = ${order.order_pk}`.execute(world.admin);
  return Number(await callRpc<string>(world.rpcUrl, 'eth_blockNumber', [])) - (rows[0]?.height ?? 0) + 1;
}

async function blackList(method: 'addBlackList' | 'removeBlackList'): Promise<void> {
  await callContract({
    rpcUrl: world.rpcUrl,
    fromKey: devAccount(DEPLOYER_INDEX).privateKey,
    contract: 'TetherLike',
    address: USDT,
    method,
    methodArguments: [world.wallet],
  });
  await world.mine();
}

async function available(): Promise<bigint> {
  const { rows } = await sql<{ balance: bigint }>`
    select balance from ledger_account where kind = 'HOT_AVAILABLE' and chain = ${CHAIN} and symbol = 'USDT'`.execute(
    world.admin,
  );
  return rows[0]?.balance ?? 0n;
}

test('succeeds once when every broadcast answer is lost and then says already known', async () => {
  const real: SendOutcome[] = [];
  let isMute = true;
  await world.drive({
    sender: (sender) => ({
      ...sender,
      async broadcast(...given) {
        // Mined between two sends, before the scanner has read the block.
        if (real.includes('KNOWN') && !real.includes('NONCE_TOO_LOW')) await world.mine();
        const outcomes = await sender.broadcast(...given);
        real.push(...outcomes);
        return isMute ? outcomes.map(() => 'UNKNOWN' as const) : outcomes;
      },
    }),
  });
  const order = await world.payout();
  await waitUntil('too low', () => real.includes('NONCE_TOO_LOW'));
  isMute = false;
  expect(real.slice(0, 2)).toEqual(['ACCEPTED', 'KNOWN']);
  const txid = await world.succeeds(order);
  expect(await world.story(order)).toEqual(STRAIGHT);
  expect(await world.transactionsOf(order)).toMatchObject([{ tx_hash: txid }]);
});

test('succeeds when the first answers are already known and nonce too low', async () => {
  for (const asIf of ['KNOWN', 'NONCE_TOO_LOW', 'UNDERPRICED', 'REFUSED'] as const) {
    let heard = 0;
    await world.drive({
      sender: (sender) => ({
        ...sender,
        async broadcast(signed, options) {
          heard += 1;
          return heard < 3 ? signed.map(() => asIf) : sender.broadcast(signed, options);
        },
      }),
    });
    const order = await world.payout();
    const txid = await world.succeeds(order);
    expect(await world.story(order)).toEqual(STRAIGHT);
    expect((await world.transactionsOf(order)).map(({ tx_hash: txHash }) => txHash)).toContain(txid);
    await world.rest();
  }
});

test('succeeds once with the same transaction after the pool dropped it', async () => {
  await world.drive();
  const order = await world.payout();
  await world.isSent(order);
  const txHash = (await newest(order))?.tx_hash ?? '';
  const inPool = () => callRpc<unknown>(world.rpcUrl, 'eth_getTransactionByHash', [txHash]);
  await waitUntil('in the pool', async () => (await inPool()) !== null);
  await dropTransaction(world.rpcUrl, txHash);
  await waitUntil('in the pool again', async () => (await inPool()) !== null);
  expect(await world.succeeds(order)).toBe(txHash);
  expect(await world.story(order)).toEqual(STRAIGHT);
});

test('reports a reorganisation before confirmation and succeeds after sending again', async () => {
  await world.drive();
  const order = await world.payout();
  await world.isSent(order);
  await isInBlock(order);
  await reorg({ rpcUrl: world.rpcUrl, depth: 1 });
  await isNotified(order, TAKEN_BACK);
  await world.succeeds(order);
  expect(await world.story(order)).toEqual([SENT, IN_BLOCK, TAKEN_BACK, IN_BLOCK, PAID]);
  expect(await world.transactionsOf(order)).toHaveLength(1);
});

test('opens an incident without a callback when a reorganisation follows success', async () => {
  await world.drive();
  const order = await world.payout();
  await world.isSent(order);
  await world.succeeds(order);
  await reorg({ rpcUrl: world.rpcUrl, depth: await depthOf(order) });
  expect(await world.received(order)).toBe(0n);
  const incidents = async () =>
    (
      await sql<{ kind: string }>`select kind from incident where order_pk = ${order.order_pk}`.execute(
        world.admin,
      )
    ).rows.map(({ kind }) => kind);
  await waitUntil('an incident', async () => (await incidents()).length > 0);
  expect(await incidents()).toEqual(['PAYOUT_ORPHANED']);
  await waitUntil('open again', async () => (await world.noncesOf(order))[0]?.state === 'SIGNED');
  await world.land([order]);
  expect(await world.received(order)).toBe(order.amount);
  expect(await world.story(order)).toEqual(STRAIGHT);
  expect(await world.transactionsOf(order)).toHaveLength(1);
  await sql`update asset_hold set released_at = now() where released_at is null`.execute(world.admin);
});

test('reports a final revert with its reason and releases the amount', async () => {
  const before = await available();
  const { order, connect } = await world.signedInVain();
  expect(await available()).toBe(before - order.amount);
  await blackList('addBlackList');
  connect();
  await isInBlock(order);
  await world.fails(order, 'Transaction failed');
  expect(await world.story(order)).toEqual([SENT, IN_BLOCK, 'ORDER_FAILED FAILED Transaction failed']);
  expect(await available()).toBe(before);
  expect(await world.transactionsOf(order)).toHaveLength(1);
  await blackList('removeBlackList');
});

test('succeeds with the same bytes when a reverted transaction lands later', async () => {
  const { order, connect, cutOff } = await world.signedInVain();
  await blackList('addBlackList');
  connect();
  await isInBlock(order);
  const { tx_hash: txHash = '' } = (await newest(order)) ?? {};
  const receipt = await callRpc<{ status: string }>(world.rpcUrl, 'eth_getTransactionReceipt', [txHash]);
  expect(receipt.status).toBe('0x0');
  cutOff();
  await reorg({ rpcUrl: world.rpcUrl, depth: 1 });
  await isNotified(order, TAKEN_BACK);
  await blackList('removeBlackList');
  connect();
  expect(await world.succeeds(order)).toBe(txHash);
  expect(await world.story(order)).toEqual([SENT, IN_BLOCK, TAKEN_BACK, IN_BLOCK, PAID]);
});

test('expires or pays a payout, never both, when its time ends during signing', async () => {
  const before = await available();
  const short = [await world.payout(), await world.payout()];
  const long = [await world.payout(), await world.payout()];
  let saves = 0;
  await world.drive({
    store: (store) => ({
      ...store,
      async saveSigned(...given) {
        saves += 1;
        // Signed but not stored when the tracker expires it.
        if (saves === 1) {
          await world.endTimeOf(...short);
          for (const order of short) await world.reaches(order, 'EXPIRED');
        }
        return store.saveSigned(...given);
      },
    }),
  });
  for (const order of short) {
    await world.fails(order, 'Payout expired');
    expect(await world.story(order)).toEqual(['ORDER_FAILED FAILED Payout expired']);
  }
  for (const order of long) await world.succeeds(order);
  for (const order of short) expect(await world.transactionsOf(order)).toEqual([]);
  expect(await available()).toBe(before - 10_000_000n);
  await world.rest();
});

test('expires or pays each of many payouts whose times end while signing is limited', async () => {
  const before = await available();
  await world.drive({ maxOpenNonces: 3 });
  const soon = await Promise.all(Array.from({ length: 24 }, () => world.payout()));
  const stateOf = async (order: OrderRow) => (await world.payoutOf(order)).state;
  const states = () => Promise.all(soon.map(stateOf));
  const signed = async () => (await states()).filter((state) => state === 'SIGNED').length;
  await waitUntil('all open nonces are signed for', async () => (await signed()) === 3);
  // Without blocks no nonce becomes free, so this payout expires unsigned. The next ones race with the blocks below.
  const found = await states();
  const ending = soon.filter((_, i) => found[i] !== 'SIGNED');
  await world.endTimeOf(ending.pop()!);
  await waitUntil('the first has expired', async () => (await states()).includes('EXPIRED'));
  await sql`update payout set expires_at = now() + (array_position(${ending.map((order) => order.order_pk)}::uuid[], order_pk) * interval '25 ms')
    where order_pk = any(${ending.map((order) => order.order_pk)}::uuid[])`.execute(world.admin);
  const ends = { signed: 0, expired: 0 };
  for (const order of soon) {
    await waitUntil('decided', async () => {
      await world.mine();
      return ['SIGNED', 'EXPIRED'].includes(await stateOf(order));
    });
    if ((await stateOf(order)) === 'SIGNED') {
      await world.succeeds(order);
      expect(await world.transactionsOf(order)).toHaveLength(1);
      ends.signed += 1;
    } else {
      await world.fails(order, 'Payout expired');
      expect(await world.transactionsOf(order)).toEqual([]);
      ends.expired += 1;
    }
  }
  expect(ends.signed).toBeGreaterThanOrEqual(3);
  expect(ends.expired).toBeGreaterThanOrEqual(1);
  expect(await available()).toBe(before - 5_000_000n * BigInt(ends.signed));
  const { rows } = await sql<{ money: string; state: string; n: number }>`
    select state, money, count(*)::int as n from payout where order_pk = any(${soon.map((order) => order.order_pk)}::uuid[])
    group by state, money order by state`.execute(world.admin);
  expect(rows).toEqual([
    { state: 'EXPIRED', money: 'RELEASED', n: ends.expired },
    { state: 'SIGNED', money: 'PAID_OUT', n: ends.signed },
  ]);
});

test('succeeds once and never expires after a broadcast that failed past its time', async () => {
  const expiring = await world.payout();
  const { order, connect } = await world.signedInVain();
  await world.isSent(expiring);
  await world.endTimeOf(expiring);
  const ended = Date.now();
  await waitUntil('some rounds of the tracker are over', () => Date.now() > ended + 300);
  expect(await world.story(expiring)).toEqual([SENT]);
  connect();
  await world.succeeds(expiring);
  expect(await world.story(expiring)).toEqual(STRAIGHT);
  await world.succeeds(order);
});

test('delivers the amount exactly once to every order with a success callback', async () => {
  expect(world.paid.length).toBeGreaterThan(12);
  await world.agrees();
});
