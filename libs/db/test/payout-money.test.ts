import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { Database } from '../src/database.ts';
import type { PayoutMoney } from '../src/payout-tables.ts';
import type { LedgerAccountKind } from '../src/ledger-tables.ts';
import {
  aFate,
  aReservedPayout,
  aSignedPayout,
  anOwnTransaction,
  refuse,
  send,
  sign,
  type OwnTransactionRow,
} from '@opentill/testkit/payout-scenario';
import { aHotWallet, aPayout, ONE_USDT, type OrderRow } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';

const { admin, open } = await openTestDatabase();
const [tracker, other] = [open('tracker'), open('tracker')];

interface Moved {
  readonly order_pk: string;
  readonly was: PayoutMoney;
  readonly became: PayoutMoney;
}
async function settle(...orders: readonly Pick<OrderRow, 'order_pk'>[]): Promise<readonly Moved[]> {
  return settleKeys(
    tracker,
    orders.map((order) => order.order_pk),
  );
}
/** Only settlements that changed where the amount is booked. */
async function settleKeys(database: Database, orderPks: readonly string[]): Promise<readonly Moved[]> {
  const { rows } = await sql<Moved>`
    select distinct order_pk, was, became from settle_payout_money(${orderPks}::uuid[]) where was <> became`.execute(
    database.kysely,
  );
  return rows;
}

async function ledgerSums(order: Pick<OrderRow, 'order_pk'>): Promise<Record<string, bigint>> {
  const { rows } = await sql<{ kind: LedgerAccountKind; amount: bigint }>`
    select a.kind, sum(p.amount) as amount from ledger_transaction t join ledger_posting p using (ledger_tx_id)
      join ledger_account a using (account_id) where t.order_pk = ${order.order_pk} group by a.kind having sum(p.amount) <> 0`.execute(
    admin.kysely,
  );
  return Object.fromEntries(rows.map((row) => [row.kind, row.amount]));
}
const kindsOf = async (order: Pick<OrderRow, 'order_pk'>): Promise<readonly string[]> => {
  const { rows } = await sql<{ kind: string }>`
    select kind from ledger_transaction where order_pk = ${order.order_pk} order by ledger_tx_id`.execute(
    admin.kysely,
  );
  return rows.map((row) => row.kind);
};
const sent = { sent: true };
const AMOUNT = 250n * ONE_USDT;

describe('payout amount', () => {
  test('the amount stays reserved until the payout is sent', async () => {
    const { order } = await aSignedPayout(admin.kysely);
    expect(await settle(order)).toEqual([]);
    expect(await ledgerSums(order)).toEqual({ HOT_AVAILABLE: -AMOUNT, HOT_RESERVED: AMOUNT });
  });

  test('the amount moves to IN_FLIGHT and PAID_OUT once each', async () => {
    const { order, transaction } = await aSignedPayout(admin.kysely, {}, sent);
    expect(await settle(order, order)).toEqual([
      { order_pk: order.order_pk, was: 'RESERVED', became: 'IN_FLIGHT' },
    ]);
    expect(await settle(order)).toEqual([]);
    await aFate(admin.kysely, transaction, 'MINED');
    expect(await settle(order)).toEqual([]);
    await aFate(admin.kysely, transaction, 'VERIFIED');
    expect(await settle(order)).toMatchObject([{ became: 'PAID_OUT' }]);
    expect(await settle(order)).toEqual([]);
    expect(await ledgerSums(order)).toEqual({ HOT_AVAILABLE: -AMOUNT, PAID_OUT: AMOUNT });
    expect(await kindsOf(order)).toEqual(['RESERVE', 'PAYOUT_SENT', 'PAYOUT']);
  });

  test('the amount is paid out when a verified payout was never marked as sent', async () => {
    const { order, transaction } = await aSignedPayout(admin.kysely);
    await aFate(admin.kysely, transaction, 'VERIFIED');
    expect(await settle(order)).toMatchObject([{ was: 'RESERVED', became: 'PAID_OUT' }]);
    expect(await kindsOf(order)).toEqual(['RESERVE', 'PAYOUT_SENT', 'PAYOUT']);
  });

  test('the amount is returned when its transaction failed or delivered zero', async () => {
    for (const succeeded of [true, false]) {
      const { order, transaction } = await aSignedPayout(admin.kysely, {}, sent);
      await aFate(admin.kysely, transaction, 'VERIFIED', { succeeded, delivered: 0n });
      expect(await settle(order)).toMatchObject([{ became: 'RETURNED' }]);
      expect(await ledgerSums(order)).toEqual({});
      expect(await kindsOf(order)).toEqual(['RESERVE', 'PAYOUT_SENT', 'PAYOUT_RETURNED']);
    }
  });

  test('the amount is released when the payout is refused or expired, and not before', async () => {
    const refused = await aReservedPayout(admin.kysely);
    const expired = await aReservedPayout(admin.kysely, { expires_at: new Date(Date.now() - 1_000) });
    const waiting = await aReservedPayout(admin.kysely);
    expect(await settle(refused, expired, waiting)).toEqual([]);
    await refuse(admin.kysely, refused, 'Limit per day exceeded');
    await sql`select expire_payouts(${[expired.order_pk, waiting.order_pk]}::uuid[])`.execute(tracker.kysely);
    const moved = await settle(refused, expired, waiting);
    expect(moved.map((one) => one.order_pk).toSorted()).toEqual(
      [refused.order_pk, expired.order_pk].toSorted(),
    );
    for (const order of [refused, expired]) expect(await ledgerSums(order)).toEqual({});
    expect(await kindsOf(refused)).toEqual(['RESERVE', 'RELEASE']);
  });

  test('a reorganisation of a final payout is booked by entries of its own', async () => {
    const { order, transaction } = await aSignedPayout(admin.kysely, {}, sent);
    await aFate(admin.kysely, transaction, 'VERIFIED');
    await settle(order);
    await aFate(admin.kysely, transaction, 'ORPHANED');
    expect(await settle(order)).toMatchObject([{ was: 'PAID_OUT', became: 'IN_FLIGHT' }]);
    await aFate(admin.kysely, transaction, 'VERIFIED', { succeeded: false });
    expect(await settle(order)).toMatchObject([{ was: 'IN_FLIGHT', became: 'RETURNED' }]);
    await aFate(admin.kysely, transaction, 'VERIFIED');
    expect(await settle(order)).toMatchObject([{ was: 'RETURNED', became: 'PAID_OUT' }]);
    expect(await ledgerSums(order)).toEqual({ HOT_AVAILABLE: -AMOUNT, PAID_OUT: AMOUNT });
    expect(await kindsOf(order)).toEqual([
      'RESERVE',
      'PAYOUT_SENT',
      'PAYOUT',
      'PAYOUT_REVERSED',
      'PAYOUT_RETURNED',
      'PAYOUT_RETURN_REVERSED',
      'PAYOUT',
    ]);
  });

  test('a returned amount that is reserved again is paid out when its payout landed', async () => {
    const symbol = 'PYUSD';
    const { order, transaction } = await aSignedPayout(admin.kysely, { symbol }, sent);
    await aFate(admin.kysely, transaction, 'VERIFIED', { succeeded: false });
    await settle(order);
    const next = await aPayout(admin.kysely, { symbol });
    const reserve = (payout: OrderRow) =>
      sql<{ ok: boolean }>`select reserve(${payout.order_pk}) as ok`.execute(admin.kysely);
    expect((await reserve(next)).rows).toEqual([{ ok: true }]);
    await aFate(admin.kysely, transaction, 'VERIFIED');
    await settle(order);
    const { rows } = await sql<{ kind: string; balance: bigint }>`
      select kind, sum(balance) as balance from ledger_account where symbol = ${symbol} group by kind order by kind`.execute(
      admin.kysely,
    );
    expect(rows).toEqual([
      { kind: 'HOT_AVAILABLE', balance: -AMOUNT },
      { kind: 'HOT_RESERVED', balance: AMOUNT },
      { kind: 'IN_FLIGHT', balance: 0n },
      { kind: 'OWNER', balance: -AMOUNT },
      { kind: 'PAID_OUT', balance: AMOUNT },
    ]);
    // No amount is reserved while the balance is negative, and a top-up first covers the deficit.
    await aHotWallet(admin.kysely, { symbol, amount: AMOUNT });
    expect((await reserve(await aPayout(admin.kysely, { symbol }))).rows).toEqual([{ ok: false }]);
    await aHotWallet(admin.kysely, { symbol, amount: AMOUNT });
    expect((await reserve(await aPayout(admin.kysely, { symbol }))).rows).toEqual([{ ok: true }]);
  });

  test('concurrent settlements of many payouts neither deadlock nor book twice', async () => {
    const orders: OrderRow[] = [];
    for (let i = 0; i < 8; i += 1) orders.push((await aSignedPayout(admin.kysely, {}, sent)).order);
    const keys = orders.map((order) => order.order_pk);
    const moved = await Promise.all([
      settleKeys(tracker, keys),
      settleKeys(other, keys.toReversed()),
      settleKeys(tracker, keys),
    ]);
    expect(moved.flat()).toHaveLength(8);
    const { rows } = await sql<{ n: number }>`
      select count(*) as n from ledger_transaction where kind = 'PAYOUT_SENT' and order_pk = any(${keys}::uuid[])`.execute(
      admin.kysely,
    );
    expect(rows[0]?.n).toBe(8);
  });

  test('settling returns the facts that the bookings are based on', async () => {
    const unsent = await aReservedPayout(admin.kysely);
    const { order, transaction } = await aSignedPayout(admin.kysely, {}, sent);
    const bumped = await anOwnTransaction(admin.kysely, order, { nonce: transaction.nonce });
    await aFate(admin.kysely, transaction, 'ORPHANED', { block_height: 100 });
    await aFate(admin.kysely, bumped, 'VERIFIED', { block_height: 101, delivered: 7n });
    const { rows } = await sql<object>`
      select order_pk, was, became, (payout).state, (payout).first_sent_at is not null as sent, (fate).tx_hash,
        (fate).state as fate, (fate).delivered, wallet, to_address, amount
      from settle_payout_money(${[unsent.order_pk, order.order_pk]}::uuid[])
      order by (fate).block_height nulls first`.execute(tracker.kysely);
    const { wallet, to_address } = transaction;
    const nothing = {
      tx_hash: null,
      fate: null,
      delivered: null,
      wallet: null,
      to_address: null,
      amount: null,
    };
    const booked = {
      order_pk: order.order_pk,
      was: 'RESERVED',
      became: 'PAID_OUT',
      state: 'SIGNED',
      sent: true,
    };
    const own = { wallet, to_address, amount: AMOUNT };
    expect(rows).toEqual([
      {
        order_pk: unsent.order_pk,
        was: 'RESERVED',
        became: 'RESERVED',
        state: 'REQUESTED',
        sent: false,
        ...nothing,
      },
      { ...booked, tx_hash: transaction.tx_hash, fate: 'ORPHANED', delivered: AMOUNT, ...own },
      { ...booked, tx_hash: bumped.tx_hash, fate: 'VERIFIED', delivered: 7n, ...own },
    ]);
  });

  test('a payout is paid out once when two of its transactions landed', async () => {
    const { order, transaction } = await aSignedPayout(admin.kysely, {}, sent);
    const bumped = await anOwnTransaction(admin.kysely, order, { nonce: transaction.nonce });
    await aFate(admin.kysely, bumped, 'VERIFIED');
    await settle(order);
    await aFate(admin.kysely, transaction, 'ORPHANED');
    expect(await settle(order)).toEqual([]);
    expect(await ledgerSums(order)).toEqual({ HOT_AVAILABLE: -AMOUNT, PAID_OUT: AMOUNT });
  });
});

describe('fees', () => {
  const fees = (
    transaction: OwnTransactionRow,
    version = 1,
    nativeSymbol = 'ETH',
    chain = transaction.chain,
  ) =>
    sql<{ n: number }>`select settle_network_fees(${JSON.stringify([
      { chain, txHash: transaction.tx_hash, nativeSymbol, version },
    ])}::jsonb) as n`
      .execute(tracker.kysely)
      .then(({ rows }) => rows[0]?.n);
  const feesOf = async (transaction: OwnTransactionRow) => {
    const { rows } = await sql<{ ref: string; kind: string; symbol: string; amount: bigint }>`
      select t.kind, a.symbol, p.amount from ledger_transaction t join ledger_posting p using (ledger_tx_id)
        join ledger_account a using (account_id)
      where t.ref like ${`network-fee%${transaction.tx_hash}%`} and a.kind = 'HOT_GAS' order by t.ledger_tx_id`.execute(
      admin.kysely,
    );
    return rows.map((row) => `${row.kind} ${row.amount} ${row.symbol}`);
  };

  test('a fee is booked once when verified, with the settled version', async () => {
    const { transaction } = await aSignedPayout(admin.kysely);
    expect(await fees(transaction)).toBe(0); // no outcome yet
    await aFate(admin.kysely, transaction, 'MINED');
    expect(await fees(transaction, 1)).toBe(0);
    await aFate(admin.kysely, transaction, 'VERIFIED', { network_fee: 5n });
    expect(await fees(transaction, 2)).toBe(1);
    expect(await fees(transaction, 2)).toBe(0);
    expect(await feesOf(transaction)).toEqual(['NETWORK_FEE -5 ETH']);
    const settled = await admin.kysely.selectFrom('own_transaction_settlement').selectAll().execute();
    expect(settled.filter((row) => row.tx_hash === transaction.tx_hash)).toMatchObject([
      { settled_version: 2, booked_fee: 5n, booked_symbol: 'ETH', bookings: 1 },
    ]);
  });

  test('fees of failed and cancelling transactions are booked, and a zero fee is not', async () => {
    const { order, transaction } = await aSignedPayout(admin.kysely);
    await aFate(admin.kysely, transaction, 'VERIFIED', { succeeded: false, network_fee: 7n });
    expect(await fees(transaction)).toBe(1);
    await sql`insert into wallet_nonce (chain, wallet, nonce, state, purpose)
      values (${order.chain}, ${order.source_address}, 77, 'SIGNED', 'CANCEL')`.execute(admin.kysely);
    const cancel = await anOwnTransaction(admin.kysely, order, {
      nonce: 77,
      purpose: 'CANCEL',
      order_pk: null,
      contract_address: null,
      to_address: order.source_address ?? '',
      amount: 0n,
    });
    await aFate(admin.kysely, cancel, 'VERIFIED', { delivered: 0n, network_fee: 3n });
    expect(await fees(cancel)).toBe(1);
    const free = (await aSignedPayout(admin.kysely)).transaction;
    await aFate(admin.kysely, free, 'VERIFIED', { network_fee: 0n });
    expect(await fees(free)).toBe(0);
  });

  test('a changed fee is reversed as booked and booked again', async () => {
    const { transaction } = await aSignedPayout(admin.kysely);
    await aFate(admin.kysely, transaction, 'VERIFIED', { network_fee: 5n });
    await fees(transaction);
    await aFate(admin.kysely, transaction, 'ORPHANED');
    expect(await fees(transaction)).toBe(1);
    await aFate(admin.kysely, transaction, 'VERIFIED', { network_fee: 6n });
    await fees(transaction);
    await aFate(admin.kysely, transaction, 'VERIFIED', { network_fee: 8n });
    expect(await fees(transaction)).toBe(2);
    expect(await feesOf(transaction)).toEqual([
      'NETWORK_FEE -5 ETH',
      'NETWORK_FEE_REVERSED 5 ETH',
      'NETWORK_FEE -6 ETH',
      'NETWORK_FEE_REVERSED 6 ETH',
      'NETWORK_FEE -8 ETH',
    ]);
  });

  test('fees not covered by gas top-ups reduce the payable native coin', async () => {
    const coin = { symbol: 'POL', contract_address: null, chain: 'POLYGON', amount: 100n } as const;
    const { transaction } = await aSignedPayout(admin.kysely, coin);
    await aFate(admin.kysely, transaction, 'VERIFIED', { network_fee: 30n });
    await fees(transaction, 1, 'POL');
    await aHotWallet(admin.kysely, { chain: 'POLYGON', symbol: 'POL', amount: 100n });
    const reserve = async (amount: bigint) => {
      const payout = await aPayout(admin.kysely, { ...coin, amount });
      return (await sql<{ ok: boolean }>`select reserve(${payout.order_pk}) as ok`.execute(admin.kysely))
        .rows[0]?.ok;
    };
    expect(await reserve(71n)).toBe(false);
    expect(await reserve(70n)).toBe(true);
    // A gas top-up does not increase the payable balance.
    await sql`select book_gas_top_up('POLYGON:0x1:POL', 'POLYGON', 'POL', 1000)`.execute(admin.kysely);
    expect(await reserve(31n)).toBe(false);
    expect(await reserve(30n)).toBe(true);
  });
});

test('property: the sums are right for any order and repetition of settlements', async () => {
  const facts = fc.constantFrom(
    'sign',
    'send',
    'refuse',
    'MINED',
    'VERIFIED',
    'FAILED',
    'ORPHANED',
    'settle',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(facts, { maxLength: 12 }), async (sequence) => {
      const order = await aReservedPayout(admin.kysely);
      let transaction: OwnTransactionRow | undefined;
      let expected: PayoutMoney = 'RESERVED';
      let refused = false;
      for (const fact of sequence) {
        if (fact === 'settle') await settle(order);
        else if (fact === 'sign') {
          if (transaction === undefined && !refused) transaction = await sign(admin.kysely, order);
        } else if (fact === 'refuse') {
          if (transaction !== undefined || refused) continue;
          await refuse(admin.kysely, order, 'Address denied');
          refused = true;
          expected = 'RELEASED';
        } else if (transaction !== undefined) {
          if (fact === 'send') {
            await send(admin.kysely, order);
            if (expected === 'RESERVED') expected = 'IN_FLIGHT';
          } else {
            await aFate(admin.kysely, transaction, fact === 'FAILED' ? 'VERIFIED' : fact, {
              succeeded: fact !== 'FAILED',
            });
            expected = fact === 'VERIFIED' ? 'PAID_OUT' : fact === 'FAILED' ? 'RETURNED' : 'IN_FLIGHT';
          }
        }
      }
      await settle(order);
      await settle(order);
      const sumsByState: Record<PayoutMoney, Record<string, bigint>> = {
        RESERVED: { HOT_AVAILABLE: -AMOUNT, HOT_RESERVED: AMOUNT },
        IN_FLIGHT: { HOT_AVAILABLE: -AMOUNT, IN_FLIGHT: AMOUNT },
        PAID_OUT: { HOT_AVAILABLE: -AMOUNT, PAID_OUT: AMOUNT },
        RETURNED: {},
        RELEASED: {},
      };
      expect(await ledgerSums(order)).toEqual(sumsByState[expected]);
    }),
    { numRuns: 25 },
  );
});

test('rejects facts that no booking leads to', async () => {
  const { order } = await aSignedPayout(admin.kysely, {}, sent);
  await settle(order);
  await admin.kysely.transaction().execute(async (tx) => {
    await sql`alter table payout disable trigger user`.execute(tx);
    await sql`update payout set first_sent_at = null where order_pk = ${order.order_pk}`.execute(tx);
    await sql`alter table payout enable trigger user`.execute(tx);
  });
  await expect(settle(order)).rejects.toThrow(/null value in column "ref"/);
});

test('after all tests balances equal the sums of their postings, which sum to zero', async () => {
  const { rows } = await sql<{ wrong: number; total: bigint | null }>`
    select count(*) filter (where balance <> coalesce(posted, 0)) as wrong, sum(balance) as total
    from ledger_account left join (
      select account_id, sum(amount) as posted from ledger_posting group by account_id
    ) p using (account_id)`.execute(admin.kysely);
  expect(rows[0]).toEqual({ wrong: 0, total: 0n });
});
