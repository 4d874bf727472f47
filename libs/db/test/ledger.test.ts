import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { sql } from 'kysely';
import { randomUUID } from 'node:crypto';
import type { Tx } from '../src/database.ts';
import type { LedgerAccountKind, LedgerTransactionKind } from '../src/ledger-tables.ts';
import { aHotWallet, aMerchant, aPayout } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';

const { admin, open } = await openTestDatabase();
const [tracker, api] = [open('tracker'), open('api')];

type Posting = readonly [kind: LedgerAccountKind, symbol: string, merchantId: string | null, amount: bigint];

async function book(
  tx: Tx,
  kind: LedgerTransactionKind,
  postings: readonly Posting[],
  ref = randomUUID() as string,
) {
  const { ledger_tx_id } = await tx
    .insertInto('ledger_transaction')
    .values({ ref, kind })
    .returning('ledger_tx_id')
    .executeTakeFirstOrThrow();
  const lines = postings.map(
    ([accountKind, symbol, merchantId, amount]) =>
      sql`(${ledger_tx_id}::bigint, ledger_account_for(${accountKind}, 'ETH', ${symbol}, ${merchantId}), ${amount}::numeric)`,
  );
  if (lines.length > 0)
    await sql`insert into ledger_posting (ledger_tx_id, account_id, amount) values ${sql.join(lines)}`.execute(
      tx,
    );
  return ledger_tx_id;
}
const inOne = <T>(work: (tx: Tx) => Promise<T>) => tracker.kysely.transaction().execute(work);

async function balance(kind: LedgerAccountKind, chain: string, symbol: string): Promise<bigint> {
  const { rows } = await sql<{ balance: bigint | null }>`
    select sum(balance) as balance from ledger_account
    where kind = ${kind} and chain = ${chain} and symbol = ${symbol}`.execute(admin.kysely);
  return rows[0]?.balance ?? 0n;
}

const constraint = { code: 'DATABASE_CONSTRAINT' };

describe('ledger transaction', () => {
  test('each statement of a ledger transaction sums to zero per asset', async () => {
    const { merchantId } = await aMerchant(admin.kysely);
    await inOne((tx) =>
      book(tx, 'DEPOSIT', [
        ['DEPOSIT', 'USDT', null, 5n],
        ['SUSPENSE', 'USDT', merchantId, -5n],
      ]),
    );
    const unbalanced: readonly (readonly Posting[])[] = [
      [],
      [['DEPOSIT', 'USDT', null, 5n]],
      [
        ['DEPOSIT', 'USDT', null, 5n],
        ['SUSPENSE', 'USDT', merchantId, -4n],
      ],
      [
        ['DEPOSIT', 'USDT', null, 5n],
        ['SUSPENSE', 'USDC', merchantId, -5n],
      ],
    ];
    for (const postings of unbalanced) {
      await expect(inOne((tx) => book(tx, 'DEPOSIT', postings))).rejects.toMatchObject(constraint);
    }
    expect(await balance('DEPOSIT', 'ETH', 'USDT')).toBe(5n);
  });

  test('a committed ledger transaction accepts no insert, update or delete', async () => {
    const { merchantId } = await aMerchant(admin.kysely);
    const id = await inOne((tx) =>
      book(tx, 'DEPOSIT', [
        ['DEPOSIT', 'DAI', null, 9n],
        ['SUSPENSE', 'DAI', merchantId, -9n],
      ]),
    );
    await expect(
      inOne(async (tx) => {
        await sql`insert into ledger_posting (ledger_tx_id, account_id, amount) values
          (${id}::bigint, ledger_account_for('HOT_AVAILABLE', 'ETH', 'DAI', null), 1),
          (${id}::bigint, ledger_account_for('OWNER', 'ETH', 'DAI', null), -1)`.execute(tx);
      }),
    ).rejects.toMatchObject({ ...constraint, message: expect.stringContaining('is closed') });
    for (const statement of [
      'update ledger_posting set amount = amount + 1',
      'delete from ledger_posting',
      'truncate ledger_posting',
      "update ledger_transaction set kind = 'PAYOUT'",
      'delete from ledger_transaction',
      'truncate ledger_transaction cascade',
      'truncate ledger_account cascade',
    ]) {
      await expect(sql.raw(statement).execute(admin.kysely)).rejects.toThrow(/append-only/); // even the owner
    }
  });

  test('a ledger transaction is booked once per ref', async () => {
    const { merchantId } = await aMerchant(admin.kysely);
    const ref = `deposit:${randomUUID()}`;
    const postings: Posting[] = [
      ['DEPOSIT', 'EURC', null, 7n],
      ['SUSPENSE', 'EURC', merchantId, -7n],
    ];
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => inOne((tx) => book(tx, 'DEPOSIT', postings, ref))),
    );
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
    expect(await balance('DEPOSIT', 'ETH', 'EURC')).toBe(7n);
  });

  test('a ledger transaction rejects a balance of the wrong sign', async () => {
    const { merchantId } = await aMerchant(admin.kysely);
    const negative: readonly (readonly [LedgerTransactionKind, LedgerAccountKind, LedgerAccountKind])[] = [
      ['RESERVE', 'HOT_AVAILABLE', 'HOT_RESERVED'],
      ['RESERVE', 'DEPOSIT', 'DEPOSIT_RESERVED'],
      ['PAYOUT_SENT', 'DEPOSIT_RESERVED', 'DEPOSIT_SENT'],
      ['PAYOUT_SENT', 'HOT_RESERVED', 'IN_FLIGHT'],
      ['PAYOUT', 'IN_FLIGHT', 'PAID_OUT'],
    ];
    for (const [kind, from, to] of negative) {
      const postings: readonly Posting[] = [
        [from, 'PYUSD', null, -1n],
        [to, 'PYUSD', null, 1n],
      ];
      const booked = admin.kysely.transaction().execute((tx) => book(tx, kind, postings));
      await expect(booked).rejects.toMatchObject({
        ...constraint,
        context: { constraint: 'ledger_assets_not_negative' },
      });
    }
    await expect(
      inOne((tx) =>
        book(tx, 'CREDIT', [
          ['SUSPENSE', 'PYUSD', merchantId, 1n],
          ['MERCHANT', 'PYUSD', merchantId, -1n],
        ]),
      ),
    ).rejects.toMatchObject({ ...constraint, context: { constraint: 'ledger_liabilities_not_positive' } });
  });

  test('concurrent requests for an account create it once', async () => {
    const { merchantId } = await aMerchant(admin.kysely);
    const ids = await Promise.all(
      Array.from({ length: 16 }, async () => {
        const { rows } = await sql<{ id: number }>`
          select ledger_account_for('MERCHANT', 'ETH', 'RACE', ${merchantId}) as id`.execute(tracker.kysely);
        return rows[0]!.id;
      }),
    );
    expect(new Set(ids).size).toBe(1);
  });
});

describe('balances', () => {
  /** Deposits of 1 in one statement; `turned` reverses the order of each one's postings. */
  const deposit = (tx: Tx, symbol: string, merchantId: string, count: number, turned = false) =>
    sql`
      with account as materialized (
        select ledger_account_for('DEPOSIT', 'ETH', ${symbol}, null) as deposit,
          ledger_account_for('SUSPENSE', 'ETH', ${symbol}, ${merchantId}) as suspense
      ), written as (
        insert into ledger_transaction (ref, kind)
        select 'deposit:' || gen_random_uuid(), 'DEPOSIT' from generate_series(1, ${count}::int) returning ledger_tx_id
      )
      insert into ledger_posting (ledger_tx_id, account_id, amount)
      select w.ledger_tx_id, l.account_id, l.amount
      from written w, account a, lateral (values (a.deposit, 1), (a.suspense, -1)) as l (account_id, amount)
      order by l.amount * ${turned ? 1 : -1}::int`.execute(tx);

  test('a balance is written once per account and statement', async () => {
    const { merchantId } = await aMerchant(admin.kysely);
    const updates = await inOne(async (tx) => {
      await deposit(tx, 'MANY', merchantId, 500);
      const { rows } = await sql<{ n: number }>`
        select n_tup_upd as n from pg_stat_xact_user_tables where relname = 'ledger_account'`.execute(tx);
      return rows[0]?.n;
    });
    expect(updates).toBe(2);
    expect(await balance('DEPOSIT', 'ETH', 'MANY')).toBe(500n);
    expect(await balance('SUSPENSE', 'ETH', 'MANY')).toBe(-500n);
  });

  test('balances are locked in one order, so opposite statements do not deadlock', async () => {
    const { merchantId } = await aMerchant(admin.kysely);
    await inOne((tx) => deposit(tx, 'TURN', merchantId, 1));
    for (let round = 0; round < 5; round += 1) {
      const waiting: Promise<unknown>[] = [];
      await admin.kysely.transaction().execute(async (holder) => {
        await sql`select from ledger_account where symbol = 'TURN' for update`.execute(holder);
        for (const turned of [false, true]) {
          waiting.push(inOne((tx) => deposit(tx, 'TURN', merchantId, 3, turned)));
          waiting.at(-1)?.catch(() => undefined);
        }
        await untilWaitForLocks(2);
      });
      await Promise.all(waiting);
    }
    expect(await balance('DEPOSIT', 'ETH', 'TURN')).toBe(31n);
  });

  test('balances ignore postings that were rolled back', async () => {
    const { merchantId } = await aMerchant(admin.kysely);
    const failing = inOne(async (tx) => {
      await deposit(tx, 'UNDONE', merchantId, 3);
      throw new Error('a crash');
    });
    await expect(failing).rejects.toThrow('a crash');
    expect(await balance('DEPOSIT', 'ETH', 'UNDONE')).toBe(0n);
  });
});

async function untilWaitForLocks(count: number): Promise<void> {
  for (;;) {
    const { rows } = await sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(admin.kysely);
    if (rows.length >= count) return;
  }
}

describe('top-ups', () => {
  const topUp = (ref: string, amount: string, symbol = 'TOPUP') =>
    sql<{ booked: boolean }>`select book_top_up(${ref}, 'ETH', ${symbol}, ${amount}::numeric) as booked`
      .execute(admin.kysely)
      .then(({ rows }) => rows[0]?.booked);

  test('a top-up is booked once for a transfer, by any caller', async () => {
    const ref = randomUUID();
    const booked = await Promise.all(Array.from({ length: 10 }, () => topUp(ref, '100')));
    expect(booked.filter(Boolean)).toHaveLength(1);
    expect(await balance('HOT_AVAILABLE', 'ETH', 'TOPUP')).toBe(100n);
  });

  test('a top-up rejects another amount or asset under its key, and invalid amounts', async () => {
    const ref = randomUUID();
    await topUp(ref, '5', 'REFUSED');
    for (const [amount, symbol, key] of [
      ['6', 'REFUSED', ref],
      ['5', 'OTHER', ref],
      ['0', 'REFUSED', randomUUID()],
      ['-5', 'REFUSED', randomUUID()],
      ['0.5', 'REFUSED', randomUUID()],
    ] as const) {
      await expect(topUp(key, amount, symbol)).rejects.toMatchObject(constraint);
    }
    expect(await balance('HOT_AVAILABLE', 'ETH', 'REFUSED')).toBe(5n);
  });
});

describe('reserve', () => {
  const reserve = (orderPk: string) =>
    sql<{ reserved: boolean }>`select reserve(${orderPk}) as reserved`
      .execute(api.kysely)
      .then(({ rows }) => rows[0]!.reserved);

  test('of 50 concurrent reservations exactly one gets the remaining balance', async () => {
    const { merchantId } = await aMerchant(admin.kysely);
    const asset = { chain: 'BSC', symbol: 'LAST' } as const;
    await aHotWallet(admin.kysely, { ...asset, amount: 199n });
    const payouts = await Promise.all(
      Array.from({ length: 50 }, () =>
        aPayout(admin.kysely, { ...asset, merchant_id: merchantId, amount: 100n }),
      ),
    );
    const reserved = await Promise.all(payouts.map((payout) => reserve(payout.order_pk)));
    expect(reserved.filter(Boolean)).toHaveLength(1);
    expect(await balance('HOT_AVAILABLE', 'BSC', 'LAST')).toBe(99n);
    expect(await balance('HOT_RESERVED', 'BSC', 'LAST')).toBe(100n);
  });

  test('property: reservations are covered, and refused ones did not fit', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.bigInt({ min: 0n, max: 10n ** 30n }),
        fc.array(fc.bigInt({ min: 1n, max: 10n ** 30n }), { minLength: 2, maxLength: 25 }),
        fc.integer({ min: 1, max: 3 }),
        async (wallet, amounts, merchantCount) => {
          const symbol = `P${(run += 1)}`;
          const merchants = await Promise.all(
            Array.from({ length: merchantCount }, () => aMerchant(admin.kysely)),
          );
          if (wallet > 0n) await aHotWallet(admin.kysely, { chain: 'BSC', symbol, amount: wallet });
          const payouts = await Promise.all(
            amounts.map((amount, index) =>
              aPayout(admin.kysely, {
                chain: 'BSC',
                symbol,
                amount,
                merchant_id: merchants[index % merchantCount]!.merchantId,
              }),
            ),
          );
          // Each is requested twice concurrently: the second answer equals the first.
          const answers = await Promise.all(
            payouts.map((payout) => Promise.all([reserve(payout.order_pk), reserve(payout.order_pk)])),
          );
          const available = await balance('HOT_AVAILABLE', 'BSC', symbol);
          const reserved = await balance('HOT_RESERVED', 'BSC', symbol);
          let expected = 0n;
          for (const [index, amount] of amounts.entries()) {
            const granted = answers[index]!.some(Boolean);
            if (granted) expected += amount;
            else expect(amount).toBeGreaterThan(available);
          }
          expect(reserved).toBe(expected);
          expect(available + reserved).toBe(wallet);
        },
      ),
      { numRuns: 5 },
    );
  });

  test('reserve accepts only payouts in INIT', async () => {
    await expect(reserve(randomUUID())).rejects.toThrow(/waits for a reservation/);
    const payout = await aPayout(admin.kysely, { status: 'FAILED' });
    await expect(reserve(payout.order_pk)).rejects.toThrow(/waits for a reservation/);
  });
});

test('after all tests balances equal the sums of their postings, which sum to zero', async () => {
  const { rows } = await sql<{ wrong: number; total: bigint | null }>`
    select count(*) filter (where balance <> coalesce(posted, 0)) as wrong, sum(balance) as total
    from ledger_account left join (
      select account_id, sum(amount) as posted from ledger_posting group by account_id
    ) p using (account_id)`.execute(admin.kysely);
  expect(rows[0]).toEqual({ wrong: 0, total: 0n });
});
