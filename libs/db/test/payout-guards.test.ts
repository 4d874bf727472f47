import { describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { randomUUID } from 'node:crypto';
import type { Db } from '../src/database.ts';
import { aReservedPayout, aSignedPayout, anOwnTransaction, refuse } from '@opentill/testkit/payout-scenario';
import { aHotWallet, aPayout, type OrderRow } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';

const { admin, open } = await openTestDatabase();
const [tracker, signer, ops] = [open('tracker'), open('signer'), open('ops')];

const refused = { code: 'DATABASE_CONSTRAINT' };
const forbidden = { code: 'DATABASE_FORBIDDEN' };
const past = () => new Date(Date.now() - 1_000);
const keyed = (order: Pick<OrderRow, 'order_pk'>) => sql`order_pk = ${order.order_pk}`;

async function expire(...orders: readonly OrderRow[]): Promise<readonly string[]> {
  const { rows } = await sql<{ pk: string }>`
    select expire_payouts as pk from expire_payouts(${orders.map((order) => order.order_pk)}::uuid[])`.execute(
    tracker.kysely,
  );
  return rows.map((row) => row.pk);
}
const stateOf = async (order: OrderRow) =>
  (
    await admin.kysely
      .selectFrom('payout')
      .selectAll()
      .where('order_pk', '=', order.order_pk)
      .executeTakeFirstOrThrow()
  ).state;
const authorise = (db: Db, order: OrderRow) =>
  sql`update payout set state = 'AUTHORISED', authorised_at = now() where ${keyed(order)}`.execute(db);
/** AUTHORISED to SIGNED. @returns whether it came before the expiry */
const signIfInTime = async (db: Db, order: OrderRow): Promise<boolean> => {
  const { rows } = await sql`update payout set state = 'SIGNED'
    where ${keyed(order)} and state = 'AUTHORISED' and clock_timestamp() < expires_at returning 1`.execute(
    db,
  );
  return rows.length === 1;
};
const untilWaitForLocks = (count: number) =>
  waitUntil('they wait for locks', async () => {
    const { rows } = await sql<{ n: number }>`
      select count(*) as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`.execute(
      admin.kysely,
    );
    return (rows[0]?.n ?? 0) >= count;
  });

describe('reserving', () => {
  test('reserving creates the payout row from its order', async () => {
    const order = await aReservedPayout(admin.kysely);
    const row = await admin.kysely
      .selectFrom('payout')
      .selectAll()
      .where('order_pk', '=', order.order_pk)
      .execute();
    expect(row).toMatchObject([
      {
        chain: order.chain,
        wallet: order.source_address,
        state: 'REQUESTED',
        money: 'RESERVED',
        expires_at: order.expires_at,
      },
    ]);
  });

  test('reserving again restores a missing row without a second reservation', async () => {
    const order = await aReservedPayout(admin.kysely);
    await admin.kysely.deleteFrom('payout').where('order_pk', '=', order.order_pk).execute();
    await sql`select reserve(${order.order_pk})`.execute(admin.kysely);
    expect(await stateOf(order)).toBe('REQUESTED');
    const { rows } = await sql`select from ledger_transaction where ${keyed(order)}`.execute(admin.kysely);
    expect(rows).toHaveLength(1);
  });

  test('a payout that is not covered leaves no row', async () => {
    const order = await aPayout(admin.kysely, { symbol: 'NONE' });
    await sql`select reserve(${order.order_pk})`.execute(admin.kysely);
    expect((await sql`select from payout where ${keyed(order)}`.execute(admin.kysely)).rows).toEqual([]);
  });
});

describe('refused reservation', () => {
  const reserve = (order: OrderRow) =>
    sql`select reserve(${order.order_pk})`.execute(admin.kysely).then(() => 'RESERVED');
  const nothingOf = async (order: OrderRow) => {
    const { rows } = await sql`
      select order_pk from payout where ${keyed(order)} union all select order_pk from ledger_transaction where ${keyed(order)}`.execute(
      admin.kysely,
    );
    expect(rows).toEqual([]);
  };
  const aFundedPayout = async (overrides: Parameters<typeof aPayout>[1] = {}) => {
    const order = await aPayout(admin.kysely, overrides);
    await aHotWallet(admin.kysely, order);
    return order;
  };

  test.each<readonly [string, (order: OrderRow) => ReturnType<typeof sql>]>([
    [
      'an address that is not a hot wallet',
      ({ source_address: address }) => sql`delete from hot_wallet where address = ${address}`,
    ],
    [
      'a hot wallet of another family',
      ({ source_address: address }) => sql`update hot_wallet set family = 'TRON' where address = ${address}`,
    ],
    [
      'a wallet when the order is on another chain',
      (o) => sql`update orders set chain = 'TRON' where ${keyed(o)}`,
    ],
    [
      'a hot wallet in another spelling',
      (o) => sql`update orders set source_address = upper(source_address) where ${keyed(o)}`,
    ],
    ['no address', (o) => sql`update orders set source_address = null where ${keyed(o)}`],
  ])('refuses a payout from %s', async (_what, change) => {
    const order = await aFundedPayout();
    await change(order).execute(admin.kysely);
    await aHotWallet(admin.kysely, { ...order, chain: 'TRON' });
    const hint = 'opentill setup with PUBLIC_KEYS_FILE writes the hot wallets';
    await expect(reserve(order)).rejects.toMatchObject({ ...refused, cause: { hint } });
    await nothingOf(order);
  });

  test.each([
    'infinity',
    '-infinity',
    '2126-01-01',
    `${new Date(Date.now() + 49 * 3_600_000).toISOString()}`,
  ])('refuses a payout that ends at %s', async (when) => {
    const order = await aFundedPayout();
    await sql`update orders set expires_at = ${when}::timestamptz where ${keyed(order)}`.execute(
      admin.kysely,
    );
    await expect(reserve(order)).rejects.toMatchObject(refused);
    await nothingOf(order);
  });

  test('accepts a payout that ends within the longest allowed time', async () => {
    const day = new Date(Date.now() + 24 * 3_600_000);
    expect(await reserve(await aFundedPayout({ expires_at: day }))).toBe('RESERVED');
  });
});

describe('expiring', () => {
  test('expires due payouts once and returns them', async () => {
    const due = await aReservedPayout(admin.kysely, { expires_at: past() });
    const authorised = await aReservedPayout(admin.kysely, { expires_at: past() });
    await authorise(admin.kysely, authorised);
    const young = await aReservedPayout(admin.kysely);
    const expired = await expire(due, authorised, young);
    expect(expired.toSorted()).toEqual([due.order_pk, authorised.order_pk].toSorted());
    expect(await expire(due, authorised, young)).toEqual([]);
    const row = await admin.kysely
      .selectFrom('payout')
      .selectAll()
      .where('order_pk', '=', due.order_pk)
      .execute();
    expect(row).toMatchObject([{ state: 'EXPIRED', reason: 'Payout expired', version: 2 }]);
    expect(await stateOf(young)).toBe('REQUESTED');
  });

  test('leaves payouts that await approval, are signed, refused or unknown', async () => {
    const waiting = await aReservedPayout(admin.kysely, { expires_at: past() });
    await sql`update payout set waiting_since = now() where ${keyed(waiting)}`.execute(admin.kysely);
    const { order: signed } = await aSignedPayout(admin.kysely, { expires_at: past() });
    const denied = await aReservedPayout(admin.kysely, { expires_at: past() });
    await refuse(admin.kysely, denied, 'Address denied');
    const unknown = await aPayout(admin.kysely, { expires_at: past() });
    expect(await expire(waiting, signed, denied, unknown)).toEqual([]);
    expect([await stateOf(waiting), await stateOf(signed), await stateOf(denied)]).toEqual([
      'REQUESTED',
      'SIGNED',
      'REFUSED',
    ]);
  });

  test("expiry waits for a signer's open transaction and leaves the signed payout", async () => {
    /** @returns whether the payout was signed before its expiry */
    const signWithin = async (ms: number): Promise<boolean> => {
      const order = await aReservedPayout(admin.kysely, { expires_at: new Date(Date.now() + ms) });
      await authorise(admin.kysely, order);
      let waiting: Promise<readonly string[]> = Promise.resolve([]);
      const arrivedInTime = await signer.kysely.transaction().execute(async (tx) => {
        if (!(await signIfInTime(tx, order))) return false;
        // The payout's expiry passes while its bytes are stored.
        await sql`select pg_sleep(greatest(0, extract(epoch from expires_at - clock_timestamp())) + 0.05) from payout
          where ${keyed(order)}`.execute(tx);
        waiting = expire(order);
        await untilWaitForLocks(1);
        return true;
      });
      if (!arrivedInTime) return false;
      expect(await waiting).toEqual([]);
      expect(await stateOf(order)).toBe('SIGNED');
      return true;
    };
    // A loaded machine may need more time to sign.
    let withinMs = 1_000;
    while (!(await signWithin(withinMs))) withinMs *= 2;
    expect(withinMs).toBeLessThan(60_000);
  });

  test('a signer waits for an open expiry and finds the payout expired', async () => {
    const order = await aReservedPayout(admin.kysely, { expires_at: past() });
    await sql`update payout set expires_at = now() + interval '1 hour', state = 'AUTHORISED', authorised_at = now()
      where ${keyed(order)}`.execute(admin.kysely);
    await sql`update payout set expires_at = now() - interval '1 second' where ${keyed(order)}`.execute(
      admin.kysely,
    );
    let waiting: Promise<boolean> = Promise.resolve(false);
    await tracker.kysely.transaction().execute(async (tx) => {
      await sql`select expire_payouts(array[${order.order_pk}::uuid])`.execute(tx);
      waiting =
        sql`update payout set state = 'SIGNED' where ${keyed(order)} and state = 'AUTHORISED' returning 1`
          .execute(signer.kysely)
          .then(({ rows }) => rows.length === 1);
      await untilWaitForLocks(1);
    });
    expect(await waiting).toBe(false);
    expect(await stateOf(order)).toBe('EXPIRED');
  });

  test('of concurrent expiry and signing exactly one succeeds', async () => {
    for (let round = 0; round < 40; round += 1) {
      const order = await aReservedPayout(admin.kysely, { expires_at: new Date(Date.now() + 8) });
      await authorise(admin.kysely, order);
      const tries = async <T>(one: () => Promise<T>, done: (result: T) => boolean) => {
        for (;;) {
          const result = await one();
          if (done(result) || !['REQUESTED', 'AUTHORISED'].includes(await stateOf(order))) return result;
        }
      };
      const [signed, expired] = await Promise.all([
        new Promise((resolve) => setTimeout(resolve, (round % 8) * 2)).then(() =>
          signIfInTime(signer.kysely, order),
        ),
        tries(
          () => expire(order),
          (result) => result.length > 0,
        ),
      ]);
      expect(signed).not.toBe(expired.length === 1);
      expect(await stateOf(order)).toBe(signed ? 'SIGNED' : 'EXPIRED');
    }
  });

  test('a payout does not expire while its wallet may have unknown transactions', async () => {
    const order = await aReservedPayout(admin.kysely, { expires_at: past() });
    const { chain, source_address: wallet } = order;
    const halt = async (kind: string, of: string | null, db: Db) => {
      const id = randomUUID();
      await sql`insert into wallet_halt (halt_id, chain, wallet, kind, reason) values (${id}, ${chain}, ${of}, ${kind}, 'a test')`.execute(
        db,
      );
      return id;
    };
    const release = (id: string) =>
      sql`update wallet_halt set released_at = now() where halt_id = ${id}`.execute(ops.kysely);
    for (const [kind, of, db] of [
      ['FOREIGN_NONCE', wallet, signer.kysely],
      ['RESTORED', wallet, signer.kysely],
      ['RESTORED', null, admin.kysely],
    ] as const) {
      const id = await halt(kind, of, db);
      expect(await expire(order)).toEqual([]);
      await release(id);
    }
    await halt('FOREIGN_NONCE', '0xother', signer.kysely);
    const suspect = (ago: string) =>
      sql`update payout set obstacle = 'CHAIN_AHEAD', obstacle_at = now() - ${ago}::interval where ${keyed(order)}`.execute(
        signer.kysely,
      );
    await suspect('1 minute');
    expect(await expire(order)).toEqual([]);
    // An old suspicion and an operator's halt do not prevent expiry.
    await suspect('3 minutes');
    await halt('OPERATOR', null, ops.kysely);
    expect(await expire(order)).toEqual([order.order_pk]);
    await sql`update wallet_halt set released_at = now() where released_at is null`.execute(ops.kysely);
  });

  test('no role may set EXPIRED directly', async () => {
    const order = await aReservedPayout(admin.kysely);
    const say = sql`update payout set state = 'EXPIRED', reason = 'Payout expired' where ${keyed(order)}`;
    await expect(say.execute(signer.kysely)).rejects.toMatchObject(forbidden);
    await expect(say.execute(tracker.kysely)).rejects.toMatchObject(forbidden);
  });
});

describe('payout', () => {
  test('a payout changes only to a later state', async () => {
    const states = ['REQUESTED', 'AUTHORISED', 'SIGNED', 'REFUSED', 'EXPIRED'] as const;
    const allowed = [
      'REQUESTED AUTHORISED',
      'REQUESTED REFUSED',
      'REQUESTED EXPIRED',
      'AUTHORISED SIGNED',
      'AUTHORISED REFUSED',
      'AUTHORISED EXPIRED',
    ];
    const path = {
      REQUESTED: [],
      AUTHORISED: ['AUTHORISED'],
      SIGNED: ['AUTHORISED', 'SIGNED'],
      REFUSED: ['REFUSED'],
      EXPIRED: ['EXPIRED'],
    };
    const found: string[] = [];
    for (const from of states) {
      for (const to of states.filter((state) => state !== from)) {
        const order = await aReservedPayout(admin.kysely);
        const move = (state: string) =>
          sql`update payout set state = ${state}, authorised_at = coalesce(authorised_at, now()),
            reason = case when ${state} in ('REFUSED', 'EXPIRED') then 'because' end where ${keyed(order)}`.execute(
            admin.kysely,
          );
        for (const step of path[from]) await move(step);
        await move(to).then(
          () => found.push(`${from} ${to}`),
          (error: unknown) => expect(error).toMatchObject(refused),
        );
      }
    }
    expect(found.toSorted()).toEqual(allowed.toSorted());
  });

  test('a payout stays sent and has a reason exactly when it ended unsent', async () => {
    const { order } = await aSignedPayout(admin.kysely, {}, { sent: true });
    const young = await aReservedPayout(admin.kysely);
    for (const change of [
      sql`first_sent_at = null where ${keyed(order)}`,
      sql`first_sent_at = now() + interval '1 minute' where ${keyed(order)}`,
      sql`reason = 'x' where ${keyed(order)}`,
      sql`waiting_since = now() where ${keyed(order)}`,
      sql`first_sent_at = now() where ${keyed(young)}`,
      sql`state = 'REFUSED' where ${keyed(young)}`,
      sql`state = 'AUTHORISED' where ${keyed(young)}`,
    ]) {
      await expect(sql`update payout set ${change}`.execute(admin.kysely)).rejects.toMatchObject(refused);
    }
  });

  test('the signer cannot move money by updating a payout', async () => {
    const order = await aReservedPayout(admin.kysely);
    for (const change of [
      sql`money = 'PAID_OUT'`,
      sql`money_round = 7`,
      sql`wallet = '0x'`,
      sql`chain = 'BSC'`,
    ])
      await expect(
        sql`update payout set ${change} where ${keyed(order)}`.execute(signer.kysely),
      ).rejects.toMatchObject(forbidden);
  });
});

describe('nonce', () => {
  test('a signed nonce keeps its owner and a free one can be reused', async () => {
    const order = await aReservedPayout(admin.kysely);
    const other = await aReservedPayout(admin.kysely);
    const wallet = order.source_address;
    const set = (nonce: number, change: ReturnType<typeof sql>) =>
      sql`update wallet_nonce set ${change} where chain = ${order.chain} and wallet = ${wallet} and nonce = ${nonce}`.execute(
        signer.kysely,
      );
    await sql`insert into wallet_nonce (chain, wallet, nonce, state, order_pk)
      values (${order.chain}, ${wallet}, 0, 'RESERVED', ${order.order_pk}), (${order.chain}, ${wallet}, 1, 'RESERVED', null)`.execute(
      signer.kysely,
    );
    await set(0, sql`order_pk = null`);
    await set(0, sql`order_pk = ${other.order_pk}`);
    await set(0, sql`state = 'SIGNED'`);
    for (const change of [
      sql`state = 'RESERVED'`,
      sql`order_pk = ${order.order_pk}`,
      sql`order_pk = null, purpose = 'CANCEL'`,
    ])
      await expect(set(0, change)).rejects.toMatchObject(refused);
    await set(0, sql`state = 'FINAL'`);
    await expect(set(0, sql`state = 'TAKEN'`)).rejects.toMatchObject(refused);
    await set(0, sql`state = 'SIGNED'`); // a reorganisation deeper than what counted as final
    await set(0, sql`state = 'TAKEN'`);
    for (const state of ['SIGNED', 'RESERVED', 'FINAL'])
      await expect(set(0, sql`state = ${state}`)).rejects.toMatchObject(refused);
    await expect(set(1, sql`state = 'SIGNED'`)).rejects.toMatchObject(refused); // no owner
    await expect(set(1, sql`state = 'FINAL'`)).rejects.toMatchObject(refused);
    await set(1, sql`state = 'SIGNED', purpose = 'CANCEL'`);
  });

  test('a payout has one nonce; a second one only when a foreign transaction took it', async () => {
    const order = await aReservedPayout(admin.kysely);
    const add = (nonce: number) =>
      sql`insert into wallet_nonce (chain, wallet, nonce, state, order_pk)
        values (${order.chain}, ${order.source_address}, ${nonce}, 'SIGNED', ${order.order_pk})`.execute(
        signer.kysely,
      );
    await add(0);
    await expect(add(1)).rejects.toMatchObject(refused);
    await take(order);
    await decide(order, 0);
    await add(1);
  });

  test("a payout whose nonce was taken gets another only by an operator's decision", async () => {
    const order = await aReservedPayout(admin.kysely);
    const at = (nonce: number) => sql`${order.chain}, ${order.source_address}, ${nonce}`;
    const add = (nonce: number) =>
      sql`insert into wallet_nonce (chain, wallet, nonce, state, order_pk)
        values (${at(nonce)}, 'SIGNED', ${order.order_pk})`.execute(signer.kysely);
    await add(0);
    await take(order);
    await expect(add(1)).rejects.toMatchObject(refused);
    await sql`insert into wallet_nonce (chain, wallet, nonce, state, order_pk)
      values (${at(1)}, 'RESERVED', ${order.order_pk})`.execute(signer.kysely);
    const sign = () =>
      sql`update wallet_nonce set state = 'SIGNED' where ${keyed(order)} and nonce = 1`.execute(
        signer.kysely,
      );
    await expect(sign()).rejects.toMatchObject(refused);
    await decide(order, 0);
    await sign();
    await take(order);
    await expect(add(2)).rejects.toMatchObject(refused);
    const kept = sql`update payout_decision set outcome = 'NOT_POSSIBLE' where ${keyed(order)}`;
    await expect(kept.execute(signer.kysely)).rejects.toMatchObject(refused);
  });
});

const take = (order: OrderRow) =>
  sql`update wallet_nonce set state = 'TAKEN' where ${keyed(order)}`.execute(signer.kysely);
const decide = async (order: OrderRow, nonce: number) => {
  await sql`insert into payout_decision (decision_id, order_pk, nonce, decision, operator, reason)
    values (gen_random_uuid(), ${order.order_pk}, ${nonce}, 'PAY_AGAIN', 'alice', 'looked at the chain')`.execute(
    ops.kysely,
  );
  await sql`update payout_decision set handled_at = now(), outcome = 'DONE' where ${keyed(order)}`.execute(
    signer.kysely,
  );
};

test('a payout has one open decision, with the fields of its kind', async () => {
  const order = await aReservedPayout(admin.kysely);
  const add = (decision: string, nonce: number | null, txHash: string | null, db = ops.kysely) =>
    sql`insert into payout_decision (decision_id, order_pk, nonce, decision, tx_hash, operator, reason)
      values (gen_random_uuid(), ${order.order_pk}, ${nonce}, ${decision}, ${txHash}, 'alice', 'why')`.execute(
      db,
    );
  await expect(add('PAY_AGAIN', 0, '0x1')).rejects.toMatchObject(refused);
  await expect(add('PAID_BY', null, null)).rejects.toMatchObject(refused);
  await expect(add('PAID_BY', null, '0x1', signer.kysely)).rejects.toMatchObject(forbidden);
  await add('PAID_BY', null, '0x1');
  await expect(add('PAID_BY', null, '0x2')).rejects.toMatchObject(refused);
});

test('own transactions, nonces and audit entries cannot be deleted', async () => {
  const { order } = await aSignedPayout(admin.kysely);
  await sql`insert into audit_entry (operator, action, outcome) values ('alice', 'hold.release', 'DONE')`.execute(
    ops.kysely,
  );
  for (const statement of [
    'delete from own_transaction',
    'truncate own_transaction cascade',
    'delete from wallet_nonce',
    'truncate wallet_nonce cascade',
    "update audit_entry set operator = 'bob'",
    'delete from audit_entry',
    'truncate audit_entry',
  ])
    await expect(sql.raw(statement).execute(admin.kysely)).rejects.toThrow(/are permanent/); // even the owner
  await expect(anOwnTransaction(signer.kysely, order, { nonce: 99 })).rejects.toMatchObject(refused);
});

test('a foreign nonce is an incident while its halt is open, one per wallet', async () => {
  const haltId = randomUUID();
  const halt = (id: string, kind: string, wallet: string | null) =>
    sql`insert into wallet_halt (halt_id, chain, wallet, kind, reason) values (${id}, 'ETH', ${wallet}, ${kind}, 'nonce 5')`;
  await halt(haltId, 'FOREIGN_NONCE', '0xaa').execute(signer.kysely);
  await expect(halt(randomUUID(), 'FOREIGN_NONCE', '0xaa').execute(signer.kysely)).rejects.toMatchObject(
    refused,
  );
  await expect(halt(randomUUID(), 'FOREIGN_NONCE', null).execute(signer.kysely)).rejects.toMatchObject(
    forbidden,
  );
  await expect(halt(randomUUID(), 'OPERATOR', null).execute(signer.kysely)).rejects.toMatchObject(forbidden);
  await expect(halt(randomUUID(), 'FOREIGN_NONCE', '0xbb').execute(ops.kysely)).rejects.toMatchObject(
    forbidden,
  );
  await halt(randomUUID(), 'OPERATOR', null).execute(ops.kysely);
  const incident = () =>
    admin.kysely
      .selectFrom('incident')
      .selectAll()
      .where('incident_id', '=', haltId)
      .executeTakeFirstOrThrow();
  expect(await incident()).toMatchObject({
    kind: 'FOREIGN_NONCE',
    chain: 'ETH',
    details: { wallet: '0xaa', reason: 'nonce 5' },
    closed_at: null,
  });
  const release = sql`update wallet_halt set released_at = now(), released_by = 'alice', released_reason = 'our own, restored'
    where halt_id = ${haltId}`;
  await expect(release.execute(signer.kysely)).rejects.toMatchObject(forbidden);
  await release.execute(ops.kysely);
  expect(await incident()).toMatchObject({ closed_by: 'alice', closed_reason: 'our own, restored' });
  await halt(randomUUID(), 'FOREIGN_NONCE', '0xaa').execute(signer.kysely);
});

test('a RESTORED halt of a wallet is an incident while it is open', async () => {
  const halt = (wallet: string | null, db: Db) => {
    const id = randomUUID();
    return sql`insert into wallet_halt (halt_id, chain, wallet, kind, reason, set_by) values (${id}, 'ETH', ${wallet}, 'RESTORED', 'older', 'test')`
      .execute(db)
      .then(() => id);
  };
  for (const [wallet, db] of [
    ['0xcc', signer.kysely],
    [null, admin.kysely],
  ] as const) {
    const id = await halt(wallet, db);
    const incident = () =>
      admin.kysely.selectFrom('incident').selectAll().where('incident_id', '=', id).executeTakeFirstOrThrow();
    expect(await incident()).toMatchObject({
      kind: 'RESTORED',
      chain: 'ETH',
      details: { wallet, reason: 'older' },
      closed_at: null,
    });
    await sql`update wallet_halt set released_at = now(), released_by = 'alice', released_reason = 'looked'
      where halt_id = ${id}`.execute(ops.kysely);
    expect(await incident()).toMatchObject({ closed_by: 'alice', closed_reason: 'looked' });
  }
});

test('gas booked by hand is booked once, and not as a top-up of an asset', async () => {
  const book = (name: string, amount: number) =>
    sql<{ ok: boolean }>`select ${sql.raw(name)}('ETH:0x9:ETH', 'ETH', 'ETH', ${amount}) as ok`
      .execute(ops.kysely)
      .then(({ rows }) => rows[0]?.ok);
  expect(await book('book_gas_top_up', 5)).toBe(true);
  expect(await book('book_gas_top_up', 5)).toBe(false);
  await expect(book('book_gas_top_up', 6)).rejects.toMatchObject(refused);
  await expect(book('book_top_up', 5)).rejects.toMatchObject(refused);
  await aHotWallet(admin.kysely);
});
