import { beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { aFate, aHotWalletAddress, aSignedPayout } from '@opentill/testkit/payout-scenario';
import { aCollection, anEvmAddress, aPayout, aTransfer, type TransferRow } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';

const { admin, open } = await openTestDatabase();
const [tracker, ops] = [open('tracker'), open('ops')];
const hot = { family: 'EVM' as const, address: anEvmAddress() };
beforeAll(async () => {
  await aHotWalletAddress(admin.kysely, hot);
});

let symbols = 0;
function arrives(overrides: Parameters<typeof aTransfer>[2] = {}): Promise<TransferRow> {
  const token = { symbol: `T${(symbols += 1)}`, contract_address: anEvmAddress() };
  return aTransfer(
    admin.kysely,
    { chain: 'ETH', amount: 100n, ...hot, ...token },
    { state: 'VERIFIED', ...overrides },
  );
}
interface Settled {
  readonly booked: bigint | null;
  readonly taken_back: bigint | null;
}
async function settle(...transfers: readonly Pick<TransferRow, 'transfer_id' | 'version'>[]) {
  const given = transfers.map(({ transfer_id, version }) => ({ transferId: transfer_id, version }));
  const { rows } = await sql<Settled>`
    select * from settle_hot_wallet_deposits(${JSON.stringify(given)}::jsonb)`.execute(tracker.kysely);
  return rows.map(({ booked, taken_back: takenBack }) => ({ booked, takenBack }));
}
async function change(transfer: TransferRow, values: Partial<TransferRow>): Promise<TransferRow> {
  return admin.kysely
    .updateTable('transfer')
    .set({ ...values, version: transfer.version + 1 } as never)
    .where('transfer_id', '=', transfer.transfer_id)
    .returningAll()
    .executeTakeFirstOrThrow();
}
async function available({ chain, symbol }: Pick<TransferRow, 'chain' | 'symbol'>): Promise<bigint> {
  const { rows } = await sql<{ balance: bigint }>`select balance from ledger_account
    where kind = 'HOT_AVAILABLE' and chain = ${chain} and symbol = ${symbol}`.execute(admin.kysely);
  return rows[0]?.balance ?? 0n;
}
const settlementOf = (transfer: TransferRow) =>
  admin.kysely
    .selectFrom('transfer_settlement')
    .selectAll()
    .where('transfer_id', '=', transfer.transfer_id)
    .executeTakeFirst();
const byHand = (transfer: TransferRow, amount = transfer.amount, place = transfer.symbol) =>
  sql<{
    ok: boolean;
  }>`select book_top_up(${`${transfer.chain}:${transfer.tx_hash}:${place}`}, ${transfer.chain},
    ${transfer.symbol}, ${amount}) as ok`
    .execute(ops.kysely)
    .then(({ rows }) => rows[0]?.ok);

test('a verified deposit is booked once and settled', async () => {
  const seen = await arrives({ state: 'DETECTED' });
  expect(await settle(seen)).toEqual([]);
  expect(await settlementOf(seen)).toMatchObject({ settled_version: 1, order_pk: null, booked: false });
  const verified = await change(seen, { state: 'VERIFIED' });
  expect(await settle(verified, verified)).toEqual([{ booked: 100n, takenBack: null }]);
  expect(await settle(verified)).toEqual([]);
  expect(await available(verified)).toBe(100n);
  expect(await settlementOf(verified)).toMatchObject({
    settled_version: 2,
    bookings: 1,
    booked_amount: 100n,
  });
});

test('a reorganised deposit is reversed, also when spent, and booked as mined again', async () => {
  const transfer = await arrives();
  await settle(transfer);
  const payout = await aPayout(admin.kysely, {
    chain: 'ETH',
    symbol: transfer.symbol,
    amount: 60n,
    accepted_amount: 60n,
  });
  await sql`select reserve(${payout.order_pk})`.execute(admin.kysely);
  const orphaned = await change(transfer, { state: 'ORPHANED' });
  expect(await settle(orphaned)).toEqual([{ booked: null, takenBack: 100n }]);
  expect(await available(transfer)).toBe(-60n);
  const again = await change(orphaned, { state: 'VERIFIED', amount: 90n });
  expect(await settle(again)).toEqual([{ booked: 90n, takenBack: null }]);
  const more = await change(again, { amount: 95n });
  expect(await settle(more)).toEqual([{ booked: 95n, takenBack: 90n }]);
  expect(await available(transfer)).toBe(35n);
});

test('a deposit is booked once by hand and by scan, in either order', async () => {
  const first = await arrives();
  expect(await byHand(first)).toBe(true);
  expect(await settle(first)).toEqual([{ booked: 100n, takenBack: null }]);
  expect(await available(first)).toBe(100n);
  expect(await byHand(first)).toBe(false);
  const second = await arrives();
  await settle(second);
  expect(await byHand(second)).toBe(false);
  const wrong = await arrives();
  expect(await byHand(wrong, 130n)).toBe(true);
  await settle(wrong);
  const gas = await arrives();
  await sql`select book_gas_top_up(${`ETH:${gas.tx_hash}:${gas.symbol}`}, 'ETH', ${gas.symbol}, 100)`.execute(
    ops.kysely,
  );
  await settle(gas);
  const placed = await arrives({ position: 'log:3' });
  await byHand(placed, 100n, 'log:3');
  await settle(placed);
  for (const transfer of [first, second, wrong, gas, placed]) expect(await available(transfer)).toBe(100n);
  const { rows } = await sql`select from ledger_account where kind = 'HOT_GAS' and balance <> 0`.execute(
    admin.kysely,
  );
  expect(rows).toEqual([]);
});

test('two transfers of a transaction booked by hand reverse that booking once', async () => {
  const one = await arrives({ position: 'log:0' });
  const two = await aTransfer(
    admin.kysely,
    { ...one, ...hot },
    { tx_hash: one.tx_hash, position: 'log:1', state: 'VERIFIED', amount: 7n },
  );
  await byHand(one, 107n);
  expect(await settle(one)).toHaveLength(1);
  expect(await settle(two)).toHaveLength(1);
  expect(await available(one)).toBe(107n);
});

test('a deposit is booked once when booked by hand and by scan concurrently', async () => {
  for (let round = 0; round < 10; round += 1) {
    const transfer = await arrives();
    await Promise.all([byHand(transfer), settle(transfer), settle(transfer)]);
    expect(await available(transfer)).toBe(100n);
  }
});

test('a transfer between hot wallets or by an own transaction is no deposit', async () => {
  const second = { family: 'EVM' as const, address: anEvmAddress() };
  await aHotWalletAddress(admin.kysely, second);
  const between = await arrives({ from_address: second.address });
  expect(await settle(between)).toEqual([]);
  expect(await settlementOf(between)).toMatchObject({ settled_version: 1, booked: false });
  const { transaction } = await aSignedPayout(admin.kysely, { chain: 'ETH' });
  await aFate(admin.kysely, transaction, 'VERIFIED');
  expect(await settle(await arrives({ tx_hash: transaction.tx_hash }))).toEqual([]);
});

test('a transfer to a deposit address belongs to its order, not to a hot wallet', async () => {
  const order = await aCollection(admin.kysely);
  // Only the owner of the database can insert it.
  await sql`alter table hot_wallet disable trigger hot_wallet_no_deposit`.execute(admin.kysely);
  await aHotWalletAddress(admin.kysely, order);
  await sql`alter table hot_wallet enable trigger hot_wallet_no_deposit`.execute(admin.kysely);
  const transfer = await aTransfer(admin.kysely, order, { state: 'VERIFIED' });
  expect(await settle(transfer)).toEqual([]);
  expect(await settlementOf(transfer)).toBeUndefined();
});

test('a transfer mined again to another address is reversed and left to its new owner', async () => {
  const transfer = await arrives();
  await settle(transfer);
  const order = await aCollection(admin.kysely, { chain: 'ETH' });
  const moved = await change(transfer, { to_address: order.address });
  expect(await settle(moved)).toEqual([{ booked: null, takenBack: 100n }]);
  expect(await settlementOf(moved)).toMatchObject({ settled_version: 0, order_pk: null, booked: false });
  await sql`update transfer_settlement set order_pk = ${order.order_pk}, settled_version = 2, booked_amount = 100, booked_symbol = ${transfer.symbol}
    where transfer_id = ${transfer.transfer_id}`.execute(admin.kysely);
  const back = await change(moved, { to_address: hot.address });
  expect(await settle(back)).toEqual([]);
  expect(await available(transfer)).toBe(0n);
});

test('concurrent bookers book each of many deposits once', async () => {
  const token = { symbol: 'MANY', contract_address: anEvmAddress() };
  const transfers: TransferRow[] = [];
  for (let i = 0; i < 20; i += 1)
    transfers.push(
      await aTransfer(admin.kysely, { chain: 'ETH', amount: 5n, ...hot, ...token }, { state: 'VERIFIED' }),
    );
  await Promise.all([settle(...transfers), settle(...transfers.toReversed()), settle(...transfers.slice(5))]);
  expect(await available({ chain: 'ETH', symbol: 'MANY' })).toBe(100n);
});
