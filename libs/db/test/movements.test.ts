import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { randomUUID } from 'node:crypto';
import type { LedgerAccountKind } from '../src/ledger-tables.ts';
import type { MovementKind } from '../src/sweep-tables.ts';
import { aFate, anOwnTransaction, send } from '@opentill/testkit/payout-scenario';
import { aChainCursor, aCollection, aMerchant, aTransfer, type OrderRow } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';

const CHAIN = 'ETH_SEPOLIA';
const HOT = '0x00000000000000000000000000000000000000aa';
const COLD = '0x00000000000000000000000000000000000000cc';

const { admin, open } = await openTestDatabase();
const [signer, tracker, ops] = [open('signer'), open('tracker'), open('ops')];
beforeAll(async () => {
  await aMerchant(admin.kysely);
  await aChainCursor(admin.kysely, { chain: CHAIN, family: 'EVM' });
  await sql`insert into chain_family (chain, family) values (${CHAIN}, 'EVM') on conflict do nothing`.execute(
    admin.kysely,
  );
  await sql`insert into hot_wallet (family, address) values ('EVM', ${HOT}) on conflict do nothing`.execute(
    admin.kysely,
  );
});

let order: OrderRow;
beforeEach(async () => {
  order = await aCollection(admin.kysely, { chain: CHAIN });
});

/** Books a verified transfer as the tracker does. */
async function deposited(amount: bigint, to = order): Promise<number> {
  const transfer = await aTransfer(admin.kysely, to, { amount, state: 'VERIFIED' });
  await admin.kysely.transaction().execute(async (tx) => {
    const { ledger_tx_id } = await tx
      .insertInto('ledger_transaction')
      .values({ ref: `deposit:${transfer.transfer_id}:1`, kind: 'DEPOSIT' })
      .returning('ledger_tx_id')
      .executeTakeFirstOrThrow();
    await sql`insert into ledger_posting (ledger_tx_id, account_id, amount) values
      (${ledger_tx_id}, ledger_account_for('DEPOSIT', ${CHAIN}, ${to.symbol}, null), ${amount}),
      (${ledger_tx_id}, ledger_account_for('SUSPENSE', ${CHAIN}, ${to.symbol}, ${to.merchant_id}), ${-amount})`.execute(
      tx,
    );
    await sql`insert into transfer_settlement (transfer_id, settled_version, order_pk, booked_amount, booked_symbol, bookings)
      values (${transfer.transfer_id}, 1, ${to.order_pk}, ${amount}, ${to.symbol}, 1)`.execute(tx);
  });
  return transfer.transfer_id;
}

async function depositBalance(of = order) {
  return admin.kysely
    .selectFrom('deposit_balance')
    .select(['received', 'reserved', 'swept'])
    .where('chain', '=', CHAIN)
    .where('address', '=', of.address)
    .where('symbol', '=', of.symbol)
    .executeTakeFirst();
}

async function balance(kind: LedgerAccountKind, symbol = order.symbol): Promise<bigint> {
  const { rows } = await sql<{ balance: bigint | null }>`
    select sum(balance) as balance from ledger_account where kind = ${kind} and chain = ${CHAIN} and symbol = ${symbol}`.execute(
    admin.kysely,
  );
  return rows[0]?.balance ?? 0n;
}

async function aSweep(amount: bigint, overrides: Record<string, unknown> = {}): Promise<string> {
  const sweepId = randomUUID();
  await signer.kysely
    .insertInto('sweep')
    .values({
      sweep_id: sweepId,
      chain: CHAIN,
      family: 'EVM',
      address: order.address,
      symbol: order.symbol,
      contract_address: order.contract_address,
      amount,
      destination: COLD,
      destination_kind: 'COLD',
      method: 'TOP_UP',
      cost_estimate: 1n,
      ...overrides,
    })
    .execute();
  return sweepId;
}

/** @returns its order, or undefined if the balance does not cover it */
async function plan(kind: MovementKind, amount: bigint, given: Record<string, unknown>) {
  const orderPk = randomUUID();
  const isNative = kind !== 'SWEEP' && kind !== 'TO_COLD';
  const p = {
    orderPk,
    kind,
    chain: CHAIN,
    symbol: isNative ? 'ETH' : order.symbol,
    contract: isNative ? null : order.contract_address,
    decimals: isNative ? 18 : order.decimals,
    displayDecimals: 6,
    amount: amount.toString(),
    wallet: kind === 'SWEEP' ? order.address : HOT,
    receiver: kind === 'SWEEP' || kind === 'TO_COLD' ? COLD : order.address,
    seconds: 3_600,
    ...given,
  };
  const { rows } = await sql<{ began: boolean }>`
    select plan_movement(${JSON.stringify(p)}::jsonb) as began`.execute(signer.kysely);
  if (rows[0]?.began !== true) return undefined;
  return admin.kysely
    .selectFrom('orders')
    .selectAll()
    .$narrowType<{ address: string }>()
    .where('order_pk', '=', orderPk)
    .executeTakeFirstOrThrow();
}

const settle = (orderPk: string) =>
  sql`select * from settle_payout_money(array[${orderPk}]::uuid[])`.execute(tracker.kysely);

async function sent(of: OrderRow) {
  await sql`update payout set state = 'AUTHORISED', authorised_at = now() where order_pk = ${of.order_pk}`.execute(
    admin.kysely,
  );
  const transaction = await anOwnTransaction(admin.kysely, of);
  await sql`update payout set state = 'SIGNED' where order_pk = ${of.order_pk}`.execute(admin.kysely);
  await send(admin.kysely, of);
  await settle(of.order_pk);
  return transaction;
}

describe('deposit balance', () => {
  test('the balance of an address is the sum booked per asset', async () => {
    await deposited(100n);
    await deposited(20n);
    expect(await depositBalance()).toEqual({ received: 120n, reserved: 0n, swept: 0n });
  });

  test('a reorganised transfer is subtracted from the address it was booked for', async () => {
    const other = await aCollection(admin.kysely, { chain: CHAIN });
    const transferId = await deposited(100n);
    await sql`update transfer set to_address = ${other.address} where transfer_id = ${transferId}`.execute(
      admin.kysely,
    );
    await sql`update transfer_settlement set order_pk = ${other.order_pk}, booked_amount = 70, bookings = 2
      where transfer_id = ${transferId}`.execute(admin.kysely);
    expect(await depositBalance()).toMatchObject({ received: 0n });
    expect(await depositBalance(other)).toMatchObject({ received: 70n });
  });
});

describe('age of a deposit balance', () => {
  const DAY = 86_400;
  const daysOld = async () => {
    const { rows } = await sql<{
      seconds: number;
    }>`select extract(epoch from now() - since)::float8 as seconds
      from deposit_balance where address = ${order.address}`.execute(admin.kysely);
    return Math.round((rows[0]?.seconds ?? Number.NaN) / DAY);
  };
  const age = (days: number) =>
    sql`update deposit_balance set since = now() - make_interval(days => ${days}) where address = ${order.address}`.execute(
      admin.kysely,
    );
  const begun = async (amount: bigint) => {
    const sweepId = await aSweep(amount);
    return { sweepId, moving: (await plan('SWEEP', amount, { sweepId }))! };
  };
  const released = async ({ sweepId, moving }: Awaited<ReturnType<typeof begun>>) => {
    await sql`update payout set state = 'EXPIRED', reason = 'x' where order_pk = ${moving.order_pk}`.execute(
      admin.kysely,
    );
    await settle(moving.order_pk);
    await sql`update sweep set state = 'ABANDONED', ended_at = now() where sweep_id = ${sweepId}`.execute(
      signer.kysely,
    );
  };
  const ended = async ({ sweepId, moving }: Awaited<ReturnType<typeof begun>>, succeeded: boolean) => {
    const transaction = await sent(moving);
    await aFate(admin.kysely, transaction, 'VERIFIED', succeeded ? {} : { succeeded, delivered: 0n });
    await settle(moving.order_pk);
    await sql`update sweep set state = 'DONE', ended_at = now() where sweep_id = ${sweepId}`.execute(
      signer.kysely,
    );
    return transaction;
  };

  test('the age is unchanged when a sweep does not land', async () => {
    await deposited(100n);
    await age(30);
    await released(await begun(100n));
    expect([await depositBalance(), await daysOld()]).toEqual([
      { received: 100n, reserved: 0n, swept: 0n },
      30,
    ]);
    await ended(await begun(100n), false);
    expect([await depositBalance(), await daysOld()]).toEqual([
      { received: 100n, reserved: 0n, swept: 0n },
      30,
    ]);
  });

  test('after a sweep the age is that of coin that arrived meanwhile', async () => {
    await deposited(100n);
    await age(30);
    const first = await begun(100n);
    await deposited(20n);
    expect(await daysOld()).toBe(0);
    await released(first);
    expect(await daysOld()).toBe(30);
    const second = await begun(120n);
    await deposited(5n);
    await ended(second, true);
    expect([await depositBalance(), await daysOld()]).toEqual([
      { received: 125n, reserved: 0n, swept: 120n },
      0,
    ]);
    // Swept coin does not count for the age.
    await age(2);
    await released(await begun(5n));
    expect(await daysOld()).toBe(2);
  });

  test('the age restarts on an empty address and is restored by a reorganised sweep', async () => {
    await deposited(100n);
    await age(30);
    const sweep = await begun(100n);
    const { tx_hash } = await ended(sweep, true);
    await sql`update own_transaction_fate set succeeded = false, delivered = 0, version = version + 1
      where tx_hash = ${tx_hash}`.execute(admin.kysely);
    await settle(sweep.moving.order_pk);
    expect([await depositBalance(), await daysOld()]).toEqual([
      { received: 100n, reserved: 0n, swept: 0n },
      30,
    ]);
    await ended(await begun(100n), true);
    await deposited(7n);
    expect(await daysOld()).toBe(0);
  });
});

describe('sweep', () => {
  test('a sweep moves its amount from the deposit address to cold storage', async () => {
    const [deposit, cold] = [await balance('DEPOSIT'), await balance('COLD')];
    await deposited(100n);
    const moving = await plan('SWEEP', 100n, { sweepId: await aSweep(100n) });
    expect(await depositBalance()).toEqual({ received: 100n, reserved: 100n, swept: 0n });
    expect([await balance('DEPOSIT'), await balance('DEPOSIT_RESERVED')]).toEqual([deposit, 100n]);
    const transaction = await sent(moving!);
    expect(await balance('DEPOSIT_SENT')).toBe(100n);
    await aFate(admin.kysely, transaction, 'VERIFIED');
    await settle(moving!.order_pk);
    expect(await depositBalance()).toEqual({ received: 100n, reserved: 0n, swept: 100n });
    expect([await balance('DEPOSIT_SENT'), (await balance('COLD')) - cold]).toEqual([0n, 100n]);
    await sql`update own_transaction_fate set state = 'ORPHANED', version = version + 1 where tx_hash = ${transaction.tx_hash}`.execute(
      admin.kysely,
    );
    await settle(moving!.order_pk);
    expect(await depositBalance()).toEqual({ received: 100n, reserved: 100n, swept: 0n });
    expect([await balance('DEPOSIT_SENT'), (await balance('COLD')) - cold]).toEqual([100n, 0n]);
    await settle(moving!.order_pk);
    await sql`update own_transaction_fate set state = 'VERIFIED', succeeded = false, delivered = 0, version = version + 1
      where tx_hash = ${transaction.tx_hash}`.execute(admin.kysely);
    await settle(moving!.order_pk);
    expect(await depositBalance()).toEqual({ received: 100n, reserved: 0n, swept: 0n });
    expect((await balance('DEPOSIT')) - deposit).toBe(100n);
  });

  test('a sweep reserves at most the balance, for one movement at a time', async () => {
    await deposited(100n);
    const sweepId = await aSweep(101n);
    expect(await plan('SWEEP', 101n, { sweepId })).toBeUndefined();
    await expect(plan('SWEEP', 50n, { sweepId })).rejects.toMatchObject({ code: 'DATABASE_CONSTRAINT' });
    await sql`update sweep set amount = 100 where sweep_id = ${sweepId}`.execute(signer.kysely);
    expect(await plan('SWEEP', 100n, { sweepId })).toBeDefined();
    await expect(plan('SWEEP', 100n, { sweepId })).rejects.toThrow('already has a movement SWEEP');
    await expect(aSweep(1n)).rejects.toMatchObject({ code: 'DATABASE_CONSTRAINT' });
  });

  test.each([
    ['another receiver than planned', { receiver: HOT }],
    ['another address than planned', { wallet: COLD }],
  ])('refuses a sweep with %s', async (_, given) => {
    await deposited(100n);
    const sweepId = await aSweep(100n);
    await expect(plan('SWEEP', 100n, { sweepId, ...given })).rejects.toThrow(
      'differs from the plan of sweep',
    );
  });

  test('the fee of a sweep is topped up once', async () => {
    await deposited(100n);
    const sweepId = await aSweep(100n);
    const first = await plan('GAS_TOP_UP', 5n, { sweepId });
    await expect(plan('GAS_TOP_UP', 5n, { sweepId })).rejects.toThrow('already has a movement GAS_TOP_UP');
    const [gas, there] = [await balance('HOT_GAS', 'ETH'), await balance('DEPOSIT_GAS', 'ETH')];
    const transaction = await sent(first!);
    await aFate(admin.kysely, transaction, 'VERIFIED', { delivered: 0n, succeeded: false });
    await settle(first!.order_pk);
    // The top-up failed for certain, so it may be repeated.
    expect((await balance('HOT_GAS', 'ETH')) - gas).toBe(5n);
    const second = await plan('GAS_TOP_UP', 5n, { sweepId });
    await aFate(admin.kysely, await sent(second!), 'VERIFIED');
    await settle(second!.order_pk);
    expect((await balance('DEPOSIT_GAS', 'ETH')) - there).toBe(5n);
  });

  test('a delegation moves no money', async () => {
    await deposited(100n);
    const entries = () =>
      admin.kysely.selectFrom('ledger_transaction').select('ref').orderBy('ledger_tx_id').execute();
    const sweepId = await aSweep(100n, { method: 'STAKE' });
    const before = await entries();
    const lent = await plan('DELEGATE', 1_000n, { sweepId });
    await aFate(admin.kysely, await sent(lent!), 'VERIFIED');
    await settle(lent!.order_pk);
    expect(await entries()).toEqual(before);
    const { money } = await admin.kysely
      .selectFrom('payout')
      .select('money')
      .where('order_pk', '=', lent!.order_pk)
      .executeTakeFirstOrThrow();
    expect(money).toBe('PAID_OUT');
  });
});

describe('excess of a hot wallet', () => {
  test('the excess goes to cold storage, at most the available balance', async () => {
    await sql`select book_top_up(${`${CHAIN}:0x${randomUUID()}:${order.symbol}`}, ${CHAIN}, ${order.symbol}, 500)`.execute(
      ops.kysely,
    );
    const [free, cold] = [await balance('HOT_AVAILABLE'), await balance('COLD')];
    expect(await plan('TO_COLD', free + 1n, {})).toBeUndefined();
    const moving = await plan('TO_COLD', 200n, {});
    await aFate(admin.kysely, await sent(moving!), 'VERIFIED');
    await settle(moving!.order_pk);
    expect([await balance('HOT_AVAILABLE'), (await balance('COLD')) - cold]).toEqual([free - 200n, 200n]);
    expect(moving!.merchant_id).toBe('_gateway');
  });
});

describe('refund of a deposit', () => {
  const refund = async (transferId: number, amount: bigint) => {
    const orderPk = randomUUID();
    const p = {
      orderPk,
      transferId,
      chain: CHAIN,
      symbol: order.symbol,
      contract: order.contract_address,
      decimals: order.decimals,
      displayDecimals: 6,
      amount: amount.toString(),
      wallet: HOT,
      receiver: COLD,
      seconds: 3_600,
      plannedBy: 'anna',
    };
    const { rows } = await sql<{ began: boolean }>`
      select refund_deposit(${JSON.stringify(p)}::jsonb) as began`.execute(ops.kysely);
    return rows[0]?.began === true ? orderPk : undefined;
  };

  test('refunds in parts add up to at most the deposit; unpaid ones do not count', async () => {
    await sql`select book_top_up(${`${CHAIN}:0x${randomUUID()}:${order.symbol}`}, ${CHAIN}, ${order.symbol}, 5000)`.execute(
      ops.kysely,
    );
    const transferId = await deposited(100n);
    await expect(refund(transferId, 10n)).rejects.toThrow('is not unmatched');
    await sql`insert into unmatched_deposit (transfer_id, merchant_id, order_pk, reason)
      values (${transferId}, ${order.merchant_id}, ${order.order_pk}, 'LATE')`.execute(admin.kysely);
    const first = await refund(transferId, 60n);
    await expect(refund(transferId, 41n)).rejects.toThrow('has only 40 left');
    await sql`update payout set state = 'REFUSED', reason = 'no' where order_pk = ${first!}`.execute(
      admin.kysely,
    );
    await settle(first!);
    expect(await refund(transferId, 100n)).toBeDefined();
    const { rows } = await sql<{ order_id: string }>`
      select order_id from orders where order_id like ${`refund:${transferId}:%`} order by order_id`.execute(
      admin.kysely,
    );
    expect(rows.map((row) => row.order_id)).toEqual([`refund:${transferId}:1`, `refund:${transferId}:2`]);
  });
});

describe('two sweeps of one address', () => {
  test('two sweeps of an address settled by one call both change its balance', async () => {
    await deposited(100n);
    const first = (await plan('SWEEP', 100n, { sweepId: await aSweep(100n) }))!;
    const taken = await sent(first);
    await aFate(admin.kysely, taken, 'VERIFIED');
    await settle(first.order_pk);
    await sql`update sweep set state = 'DONE', ended_at = now() where address = ${order.address}`.execute(
      signer.kysely,
    );
    await deposited(7n);
    const second = (await plan('SWEEP', 7n, { sweepId: await aSweep(7n) }))!;
    const landed = await sent(second);
    expect(await depositBalance()).toEqual({ received: 107n, reserved: 7n, swept: 100n });
    await aFate(admin.kysely, taken, 'ORPHANED');
    await aFate(admin.kysely, landed, 'VERIFIED');
    await sql`select from settle_payout_money(${[first.order_pk, second.order_pk]}::uuid[])`.execute(
      tracker.kysely,
    );
    expect(await depositBalance()).toEqual({ received: 107n, reserved: 100n, swept: 7n });
  });
});
