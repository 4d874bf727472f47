import { beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import {
  aFate,
  anOwnTransaction,
  aReservedPayout,
  send,
  type OwnTransactionRow,
} from '@opentill/testkit/payout-scenario';
import { aHash, type OrderRow } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';

const { testDatabase, admin, open } = await openTestDatabase();
const [signer, tracker] = [open('signer'), open('tracker')];
beforeAll(async () => {
  await setCursor({ verified: 100, final: 100 });
});

const CHAIN = 'TRON_TEST';
const refused = { code: 'DATABASE_CONSTRAINT' };
const forbidden = { code: 'DATABASE_FORBIDDEN' };
/** Milliseconds; one block every 3 s. */
const timeOf = (height: number): number => 1_800_000_000_000 + height * 3_000;

/** The scanner verified up to block `verified`; blocks up to `final` are final on the chain. */
async function setCursor({ verified, final }: { verified: number; final: number | null }): Promise<void> {
  await sql`delete from block where chain = ${CHAIN}`.execute(admin.kysely);
  await sql`
    insert into block (chain, height, hash, parent_hash, block_time)
    select ${CHAIN}, h, 'b' || h, 'b' || (h - 1), to_timestamp(${timeOf(0) / 1_000} + h * 3)
    from generate_series(${verified - 5}::int8, ${verified + 5}::int8) as s (h)`.execute(admin.kysely);
  await sql`
    insert into chain_cursor (chain, family, head_height, head_hash, head_time, finalized_height, seen_height, seen_hash,
      verified_height, verified_hash, verified_time, fencing_token)
    values (${CHAIN}, 'TRON', ${verified + 5}, 'h', now(), ${final}, ${verified + 5}, 'h', ${verified}, 'b', now(), 1)
    on conflict (chain) do update set finalized_height = excluded.finalized_height, seen_height = excluded.seen_height,
      verified_height = excluded.verified_height`.execute(admin.kysely);
}

let uniqueMs = timeOf(0);
async function anAttempt(order: OrderRow, expiresMs: number): Promise<OwnTransactionRow> {
  const transaction = await anOwnTransaction(signer.kysely, order, {
    tx_hash: aHash(),
    nonce: null,
    signed_at: new Date(),
  });
  uniqueMs += 1;
  await sql`
    insert into payout_attempt (chain, tx_hash, wallet, order_pk, unique_ms, expires_ms, reference_height, reference_hash)
    values (${CHAIN}, ${transaction.tx_hash}, ${order.source_address}, ${order.order_pk}, ${uniqueMs}, ${expiresMs}, 1, 'b1')`.execute(
    signer.kysely,
  );
  return transaction;
}
async function setState(order: Pick<OrderRow, 'order_pk'>, state: string): Promise<void> {
  await sql`update payout set state = ${state}, authorised_at = coalesce(authorised_at, now()),
    reason = case when ${state}::text = 'REFUSED' then 'x' end where order_pk = ${order.order_pk}`.execute(
    signer.kysely,
  );
}
/** Its one attempt ends with block 101. */
async function aSigned(expiresMs = timeOf(101)): Promise<{ order: OrderRow; attempt: OwnTransactionRow }> {
  const order = await aReservedPayout(admin.kysely, { chain: CHAIN, family: 'TRON', symbol: 'USDT' });
  await setState(order, 'AUTHORISED');
  const attempt = await anAttempt(order, expiresMs);
  await setState(order, 'SIGNED');
  return { order, attempt };
}
const markDead = ({ tx_hash }: OwnTransactionRow) =>
  sql`update payout_attempt set state = 'DEAD', dead_height = 1, dead_hash = 'b' where tx_hash = ${tx_hash}`.execute(
    signer.kysely,
  );

describe('payout attempt', () => {
  test('an attempt is DEAD only after two verified final blocks past its expiry', async () => {
    const { attempt } = await aSigned();
    for (const [verified, final] of [
      [101, 101],
      [102, 101],
      [101, 102],
      [102, null],
    ] as const) {
      await setCursor({ verified, final });
      await expect(markDead(attempt)).rejects.toMatchObject(refused);
    }
    await setCursor({ verified: 102, final: 107 });
    await markDead(attempt);
  });

  test('a mined attempt cannot be DEAD until its block is orphaned', async () => {
    const { attempt } = await aSigned();
    for (const state of ['MINED', 'VERIFIED'] as const) {
      await aFate(admin.kysely, attempt, state);
      await expect(markDead(attempt)).rejects.toMatchObject(refused);
    }
    await aFate(admin.kysely, attempt, 'ORPHANED');
    await markDead(attempt);
  });

  test('a DEAD attempt stays DEAD, and an attempt cannot be changed or deleted', async () => {
    const { order, attempt } = await aSigned();
    const update = (change: string) =>
      sql`update payout_attempt set ${sql.raw(change)} where tx_hash = ${attempt.tx_hash}`.execute(
        admin.kysely,
      );
    for (const change of [
      'expires_ms = 1',
      'unique_ms = 1',
      "reference_hash = 'x'",
      "wallet = 'x'",
      'order_pk = gen_random_uuid()',
    ])
      await expect(update(change)).rejects.toMatchObject(refused);
    await update("state = 'SETTLED'");
    await expect(markDead(attempt)).rejects.toMatchObject(refused);
    await update("state = 'OPEN'");
    await markDead(attempt);
    for (const state of ['OPEN', 'SETTLED'])
      await expect(update(`state = '${state}', dead_height = null, dead_hash = null`)).rejects.toMatchObject(
        refused,
      );
    const other = await aSigned();
    const insert = (orderPk: string, state: string) =>
      sql`insert into payout_attempt (chain, tx_hash, wallet, order_pk, state, unique_ms, expires_ms, reference_height, reference_hash)
        values (${CHAIN}, ${aHash()}, ${order.source_address}, ${orderPk}, ${state}, 1, 1, 1, 'b')`.execute(
        admin.kysely,
      );
    await expect(insert(other.order.order_pk, 'OPEN')).rejects.toMatchObject(refused);
    await expect(sql`delete from payout_attempt`.execute(admin.kysely)).rejects.toMatchObject(refused);
    await expect(sql`truncate payout_attempt`.execute(admin.kysely)).rejects.toMatchObject(refused);
  });

  test('a payout has one open attempt, with a unique time', async () => {
    const { order, attempt } = await aSigned();
    await expect(anAttempt(order, timeOf(200))).rejects.toMatchObject(refused);
    await markDead(attempt);
    await anAttempt(order, timeOf(200));
    const { order: other } = await aSigned();
    const { rows } = await sql<{ unique_ms: number; tx_hash: string }>`
      select unique_ms, tx_hash from payout_attempt where order_pk = ${other.order_pk}`.execute(admin.kysely);
    const second = await aReservedPayout(admin.kysely, {
      chain: CHAIN,
      family: 'TRON',
      symbol: 'USDT',
      source_address: other.source_address,
    });
    uniqueMs = rows[0]!.unique_ms - 1;
    await expect(anAttempt(second, timeOf(200))).rejects.toMatchObject(refused);
    uniqueMs += 100;
  });
});

describe('signed payout', () => {
  test('a payout returns to AUTHORISED only when all its attempts are DEAD', async () => {
    const { order, attempt } = await aSigned();
    await expect(setState(order, 'AUTHORISED')).rejects.toMatchObject(refused);
    await markDead(attempt);
    const other = await anAttempt(order, timeOf(200));
    await expect(setState(order, 'AUTHORISED')).rejects.toMatchObject(refused);
    await setCursor({ verified: 202, final: 202 });
    await markDead(other);
    await aFate(admin.kysely, attempt, 'VERIFIED');
    await expect(setState(order, 'AUTHORISED')).rejects.toMatchObject(refused);
    await aFate(admin.kysely, attempt, 'ORPHANED');
    await setState(order, 'AUTHORISED');
  });

  test('a payout is marked as sent only in SIGNED', async () => {
    const { order, attempt } = await aSigned();
    await markDead(attempt);
    await setState(order, 'AUTHORISED');
    await expect(send(admin.kysely, order)).rejects.toMatchObject(refused);
  });

  test('a payout signed with a nonce never returns to AUTHORISED', async () => {
    const order = await aReservedPayout(admin.kysely);
    await setState(order, 'AUTHORISED');
    await anOwnTransaction(admin.kysely, order);
    await setState(order, 'SIGNED');
    await expect(setState(order, 'AUTHORISED')).rejects.toMatchObject(refused);
  });

  test('a payout that returned to AUTHORISED expires; a late landing is booked', async () => {
    const { order, attempt } = await aSigned();
    await send(admin.kysely, order);
    const settle = async () => {
      const { rows } = await sql<{ was: string; became: string }>`
        select was, became from settle_payout_money(array[${order.order_pk}]::uuid[]) where was <> became`.execute(
        tracker.kysely,
      );
      return rows.map(({ was, became }) => `${was} ${became}`);
    };
    const expire = () => sql`select expire_payouts(array[${order.order_pk}]::uuid[])`.execute(tracker.kysely);
    expect(await settle()).toEqual(['RESERVED IN_FLIGHT']);
    await markDead(attempt);
    await sql`update payout set expires_at = now() where order_pk = ${order.order_pk}`.execute(admin.kysely);
    await expire();
    expect(await settle()).toEqual([]);
    await setState(order, 'AUTHORISED');
    expect(await settle()).toEqual([]);
    await expire();
    expect(await settle()).toEqual(['IN_FLIGHT RETURNED']);
    await aFate(admin.kysely, attempt, 'MINED');
    expect(await settle()).toEqual(['RETURNED IN_FLIGHT']);
    await aFate(admin.kysely, attempt, 'VERIFIED');
    expect(await settle()).toEqual(['IN_FLIGHT PAID_OUT']);
    const { rows } =
      await sql`select kind, balance from ledger_account where chain = ${CHAIN} and balance <> 0
      and merchant_id = ${order.merchant_id} and kind in ('IN_FLIGHT', 'HOT_RESERVED')`.execute(admin.kysely);
    expect(rows).toEqual([]);
  });
});

test('only the signer writes attempts', async () => {
  for (const role of ['api', 'tracker', 'ops', 'webhook', 'scanner_evm'] as const) {
    const database = testDatabase.open(role);
    try {
      await expect(
        sql`update payout_attempt set state = 'SETTLED'`.execute(database.kysely),
      ).rejects.toMatchObject(forbidden);
    } finally {
      await database.close();
    }
  }
});

describe('attempt bounded by epochs', () => {
  const SUI = { chain: 'SUI_TEST', family: 'SUI', symbol: 'USDC' } as const;
  const verified = (epoch: number | null) =>
    sql`
      insert into chain_cursor (chain, family, head_height, head_hash, head_time, finalized_height, seen_height, seen_hash,
        verified_height, verified_hash, verified_time, verified_epoch, fencing_token)
      values ('SUI_TEST', 'SUI', 9, 'h', now(), 9, 9, 'h', 9, 'h', now(), ${epoch}, 1)
      on conflict (chain) do update set verified_epoch = excluded.verified_epoch`.execute(admin.kysely);
  const attempt = async (epochs: readonly [number | null, number | null], tx_hash = aHash()) => {
    const order = await aReservedPayout(admin.kysely, SUI);
    await setState(order, 'AUTHORISED');
    const transaction = await anOwnTransaction(signer.kysely, order, {
      tx_hash,
      nonce: null,
      signed_at: new Date(),
    });
    uniqueMs += 1;
    await sql`
      insert into payout_attempt (chain, tx_hash, wallet, order_pk, unique_ms, expires_ms, reference_height, reference_hash,
        first_epoch, last_epoch)
      values ('SUI_TEST', ${tx_hash}, ${order.source_address}, ${order.order_pk}, ${uniqueMs}, 1, 1, 'b', ${epochs[0]}, ${epochs[1]})`.execute(
      signer.kysely,
    );
    return transaction;
  };

  test('an attempt is DEAD only when a block of a later epoch is verified', async () => {
    const signed = await attempt([7, 8]);
    for (const epoch of [null, 7, 8]) {
      await verified(epoch);
      await expect(markDead(signed)).rejects.toMatchObject(refused);
    }
    await verified(9);
    await aFate(admin.kysely, signed, 'MINED');
    await expect(markDead(signed)).rejects.toMatchObject(refused);
    await aFate(admin.kysely, signed, 'ORPHANED');
    await expect(
      sql`update payout_attempt set last_epoch = 1 where tx_hash = ${signed.tx_hash}`.execute(admin.kysely),
    ).rejects.toMatchObject(refused);
    await markDead(signed);
  });

  test('an attempt on a chain with epochs has a first and a last epoch, in order', async () => {
    for (const epochs of [
      [8, 7],
      [7, null],
      [null, 7],
      [null, null],
    ] as const)
      await expect(attempt(epochs)).rejects.toMatchObject(refused);
  });
});
