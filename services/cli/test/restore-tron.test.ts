import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OrderRow } from '@opentill/testkit/scenario';
import { sql } from 'kysely';
import { randomAddress, openTronBooks, USDT, type Signed, type TronBooks } from './tron-wallet-world.ts';

let books: TronBooks;
let orders: Record<'paid' | 'unpaid' | 'landed' | 'paidAnew' | 'died', OrderRow>;
let lost: Record<'token' | 'coin', Signed>;
/** Signed by earlier processes of the signer; unknown to this database. */
let forgotten: Record<'paid' | 'paidAnew', Signed>;
const opentill = (line: string, ...rest: readonly string[]) => books.opentill(...line.split(' '), ...rest);

beforeAll(async () => {
  books = await openTronBooks('restore');
  orders = {
    paid: await books.payout(),
    unpaid: await books.payout(7n * USDT),
    landed: await books.payout(),
    paidAnew: await books.payout(),
    died: await books.payout(9n * USDT),
  };
  const landed = await books.signFor(orders.landed);
  await books.store(orders.landed, landed);
  for (const order of [orders.paidAnew, orders.died]) await books.store(order, await books.signFor(order));
  // Transactions from here on are in no database.
  await books.restore(0);
  await books.send(landed);
  await books.mine(4);
  await books.recordVerified(landed);
  const paid = await books.signFor(orders.paid);
  await books.send(paid);
  lost = {
    token: await books.sign({ amountBaseUnits: 3_000_000n as never }),
    coin: await books.sign({ contract: null }),
  };
  for (const signed of Object.values(lost)) await books.send(signed);
  await books.passExpiry();
  forgotten = { paid, paidAnew: await books.signFor(orders.paidAnew) };
  await books.send(forgotten.paidAnew);
  await books.mine(5);
});
afterAll(() => books.close());

const decisions = async () => {
  const { rows } = await sql<{ order_pk: string; decision: string | null }>`
    select order_pk, decision from doubtful_payout`.execute(books.admin);
  const names = Object.entries(orders).map(([name, { order_pk: orderPk }]) => [orderPk, name] as const);
  const byKey = new Map(rows.map((row) => [row.order_pk, row.decision]));
  return Object.fromEntries(names.map(([orderPk, name]) => [name, byKey.get(orderPk)]));
};
const attempts = async ({ order_pk: orderPk }: OrderRow) => {
  const { rows } = await sql<{ state: string; tx_hash: string }>`
    select state, tx_hash from payout_attempt where order_pk = ${orderPk} order by unique_ms`.execute(
    books.admin,
  );
  return rows;
};
const payouts = async () => {
  const { rows } = await sql<{ order_pk: string; state: string }>`select order_pk, state from payout`.execute(
    books.admin,
  );
  const byKey = new Map(rows.map((row) => [row.order_pk, row.state]));
  return Object.fromEntries(Object.entries(orders).map(([name, order]) => [name, byKey.get(order.order_pk)]));
};

describe('a restored TRON wallet', () => {
  it('adopts payments that are certain and leaves others to an operator', async () => {
    const { code, out } = await opentill('restore reconcile');
    expect(code).not.toBe(0);
    expect(out).toContain('2 payments recognised');
    expect(await decisions()).toEqual({
      paid: 'ADOPTED',
      unpaid: null,
      landed: 'ADOPTED',
      paidAnew: 'ADOPTED',
      died: null,
    });
    expect(await payouts()).toEqual({
      paid: 'SIGNED',
      unpaid: 'REQUESTED',
      landed: 'SIGNED',
      paidAnew: 'SIGNED',
      died: 'SIGNED',
    });
    expect((await attempts(orders.paidAnew)).map(({ state }) => state)).toEqual(['DEAD', 'OPEN']);
    expect((await attempts(orders.paidAnew))[1]!.tx_hash).toBe(forgotten.paidAnew.txHash);
    // With the token's decimals, although the file writes its contract in capitals.
    expect(out).toContain(`decide payment ${lost.token.txHash}`);
    expect(out).toContain('3.00 USDT to T');
    expect(out).toContain('5.00 TRX to T');
    for (const order of [orders.unpaid, orders.died])
      expect(out).toContain(`decide payout ${order.order_pk} (${order.order_id}`);
    const again = await opentill('restore reconcile');
    expect(again.out.replace(', 2 payments recognised', '')).toBe(out.replace(', 2 payments recognised', ''));
  });

  it('stays held until no transaction of the lost machine can land', async () => {
    expect((await opentill('restore reconcile')).out).toContain(
      'until then transactions of the lost machine may land',
    );
    for (const { txHash } of Object.values(lost))
      expect(await opentill(`restore decide-payment ${txHash} --order-lost --reason looked`)).toMatchObject({
        code: 0,
        errors: '',
      });
    expect(
      await opentill(`restore decide-payout ${orders.unpaid.order_id} --refuse --reason looked`),
    ).toMatchObject({ code: 0 });
    expect(
      await opentill(`restore decide-payout ${orders.died.order_id} --pay --reason looked`),
    ).toMatchObject({ code: 0 });
    const { code, out, errors } = await opentill('restore release --reason looked');
    expect({ code, errors }).toEqual({ code: 75, errors: expect.stringContaining('No wallet was released') });
    expect(out).toContain(': 1 open');
    // Signed before the loss and never sent: it still lands within its time.
    const late = await books.sign({ to: randomAddress(), amountBaseUnits: 4_000_000n as never });
    await books.send(late);
    await books.mine(5);
    expect((await opentill('restore reconcile')).out).toContain(`decide payment ${late.txHash}`);
    expect(
      await opentill(`restore decide-payment ${late.txHash} --order-lost --reason looked`),
    ).toMatchObject({ code: 0 });
  });

  it('is released afterwards with a ledger that equals the chain', async () => {
    await books.age(2);
    await books.mine();
    expect((await opentill('restore reconcile')).out).toContain('to be verified by the scanner');
    for (const signed of Object.values(forgotten)) await books.recordVerified(signed);
    expect(await opentill('restore reconcile')).toMatchObject({ code: 0, errors: '' });
    const released = await opentill('restore release --reason looked');
    expect(released).toMatchObject({
      code: 0,
      errors: '',
      out: expect.stringContaining('1 wallets sign again'),
    });
    const { rows } =
      await sql`select from signer.lease where name like 'wallet/TRON_TEST/%' and expires_at > now()`.execute(
        books.admin,
      );
    expect(rows).toEqual([]);
    const marks = await sql<{
      is_marked: boolean;
    }>`select mark > 0 as is_marked from wallet_halt where chain = 'TRON_TEST'`.execute(books.admin);
    expect(marks.rows).toEqual([{ is_marked: true }]);
    const owner = await sql<{ symbol: string; balance: bigint }>`
      select symbol, balance from ledger_account where kind = 'OWNER' order by 1`.execute(books.admin);
    // 1,000,000 received, 3 and 4 taken; of TRX five, and fees of lost transactions.
    expect(owner.rows.find(({ symbol }) => symbol === 'USDT')!.balance).toBe(-(1_000_000n - 7n) * USDT);
    expect(owner.rows.find(({ symbol }) => symbol === 'TRX')!.balance).toBeGreaterThan(5n * USDT);
  });
});
