import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SignedExpiring } from '@opentill/chain/expiring-sender';
import { readSignedPayment } from '@opentill/chain-sui/sender/read-payment-bytes';
import { baseUnits } from '@opentill/domain/money';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { sql } from 'kysely';
import { CHAIN, randomAddress, openSuiBooks, USDC, type Signed, type SuiBooks } from './sui-wallet-world.ts';

let books: SuiBooks;
let orders: Record<'paid' | 'unpaid' | 'landed' | 'paidAnew' | 'died', OrderRow>;
let lost: Record<'token' | 'coin', Signed>;
let forgotten: Record<'paid' | 'paidAnew', Signed>;
let gathering: Pick<SignedExpiring, 'txHash' | 'raw'>;
const opentill = (line: string, ...rest: readonly string[]) => books.opentill(...line.split(' '), ...rest);

beforeAll(async () => {
  books = await openSuiBooks();
  orders = {
    paid: await books.payout(),
    unpaid: await books.payout(7n * USDC),
    landed: await books.payout(),
    paidAnew: await books.payout(),
    died: await books.payout(9n * USDC),
  };
  const landed = await books.signFor(orders.landed);
  await books.store(orders.landed, landed);
  for (const order of [orders.paidAnew, orders.died]) await books.store(order, await books.signFor(order));
  // Transactions from here on are in no database.
  await books.restore();
  await books.send(landed);
  const paid = await books.signFor(orders.paid);
  await books.send(paid);
  await books.devnet.control.fund(books.wallet, { symbol: 'USDC', amountBaseUnits: 2n * USDC, form: 'coin' });
  await books.checkpoint();
  lost = {
    token: await books.sign({ amountBaseUnits: baseUnits(3n * USDC) }),
    coin: await books.sign({ contract: null, amountBaseUnits: baseUnits(5n * 10n ** 9n) }),
  };
  for (const signed of Object.values(lost)) await books.send(signed);
  gathering = await books.gather();
  await books.send(gathering);
  await books.checkpoint();
  await books.passEpoch();
  forgotten = { paid, paidAnew: await books.signFor(orders.paidAnew) };
  await books.send(forgotten.paidAnew);
  await books.checkpoint();
  await waitUntil('what landed is verified', async () => {
    books.devnet.control.checkpoint();
    const { rows } = await sql`select from own_transaction_fate where state = 'VERIFIED'`.execute(
      books.admin,
    );
    return rows.length > 0;
  });
  // From here on blocks come only on demand. The scanner has verified every block.
  await books.checkpoint();
});
afterAll(() => books.close());

const decisions = async () => {
  const { rows } = await sql<{ order_pk: string; decision: string | null }>`
    select order_pk, decision from doubtful_payout`.execute(books.admin);
  const byKey = new Map(rows.map((row) => [row.order_pk, row.decision]));
  return Object.fromEntries(Object.entries(orders).map(([name, order]) => [name, byKey.get(order.order_pk)]));
};
const attempts = async ({ order_pk: orderPk }: OrderRow) => {
  const { rows } = await sql<{ state: string; tx_hash: string }>`
    select state, tx_hash from payout_attempt where order_pk = ${orderPk} order by unique_ms`.execute(
    books.admin,
  );
  return rows;
};

describe('a restored SUI wallet', () => {
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
    expect((await attempts(orders.paidAnew)).map(({ state }) => state)).toEqual(['DEAD', 'OPEN']);
    expect((await attempts(orders.paidAnew))[1]!.tx_hash).toBe(forgotten.paidAnew.txHash);
    expect(out).toContain(`decide payment ${lost.token.txHash}`);
    expect(out).toContain('3.00 USDC to 0x');
    expect(out).toContain('5.00 SUI to 0x');
    // It paid no third party: the fee is booked, and no decision is needed.
    expect(out).not.toContain(gathering.txHash);
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
    for (const [order, how] of [
      [orders.unpaid, '--refuse'],
      [orders.died, '--pay'],
    ] as const)
      expect(await opentill(`restore decide-payout ${order.order_id} ${how} --reason looked`)).toMatchObject({
        code: 0,
      });
    // Even long after the restore: signatures from then end by epoch, not by time.
    await books.age(1);
    const { code, out, errors } = await opentill('restore release --reason looked');
    expect({ code, errors }).toEqual({ code: 75, errors: expect.stringContaining('No wallet was released') });
    expect(out).toContain('a checkpoint of epoch 2');
    // Signed before the loss and never sent: it still lands within its epoch.
    const late = await books.sign({ to: randomAddress(), amountBaseUnits: baseUnits(4n * USDC) });
    await books.send(late);
    await books.checkpoint();
    expect((await opentill('restore reconcile')).out).toContain(`decide payment ${late.txHash}`);
    expect(
      await opentill(`restore decide-payment ${late.txHash} --order-lost --reason looked`),
    ).toMatchObject({ code: 0 });
  });

  it('is released afterwards with a ledger that equals the chain', async () => {
    await books.passEpoch();
    await waitUntil('the scanner has verified what was taken over', async () => {
      books.devnet.control.checkpoint();
      await books.bookTopUps();
      return (await opentill('restore reconcile')).code === 0;
    });
    const released = await opentill('restore release --reason looked');
    expect(released).toMatchObject({
      code: 0,
      errors: '',
      out: expect.stringContaining('1 wallets sign again'),
    });
    const { rows } =
      await sql`select from signer.lease where name like ${`wallet/${CHAIN}/%`} and expires_at > now()`.execute(
        books.admin,
      );
    expect(rows).toEqual([]);
    const owner = await sql<{ symbol: string; balance: bigint }>`
      select symbol, balance from ledger_account where kind = 'OWNER' order by 1`.execute(books.admin);
    // 1,002 received, 3 and 4 taken; of SUI 100 received and five taken, and fees of lost transactions.
    expect(owner.rows.find(({ symbol }) => symbol === 'USDC')!.balance).toBe(-(1_002n - 7n) * USDC);
    expect(owner.rows.find(({ symbol }) => symbol === 'SUI')!.balance).toBeGreaterThan(-95n * 10n ** 9n);
    const foreign = await sql`
      select from foreign_transaction x where not exists (select from forgotten_payment f
        where f.tx_hash = x.tx_hash and f.decision is not null)`.execute(books.admin);
    expect(foreign.rows).toEqual([]);
  });
});

describe('a restored SUI wallet that received its first coin after the backup', () => {
  it('is released without a decision about the gathering that paid its own gas', async () => {
    const fresh = await openSuiBooks('coin');
    try {
      await fresh.restore();
      const first = await fresh.gather('SUI');
      expect(() => readSignedPayment(first.raw)).toThrow(RangeError);
      await fresh.send(first);
      await fresh.checkpoint();
      await fresh.devnet.control.fund(fresh.wallet, { symbol: 'USDC', amountBaseUnits: USDC, form: 'coin' });
      await fresh.checkpoint();
      await fresh.send(await fresh.gather());
      await fresh.checkpoint();
      const { out } = await fresh.opentill('restore', 'reconcile');
      expect(out).not.toContain('decide payment');
      const { rows } = await sql<{ decision: string; to: string | null }>`
        select decision, to_address as to from forgotten_payment`.execute(fresh.admin);
      expect(rows).toEqual(Array.from({ length: 2 }, () => ({ decision: 'ORDER_LOST', to: null })));
      await fresh.age(1);
      await fresh.passEpoch();
      await fresh.passEpoch();
      await waitUntil('nothing is to be decided, and nothing waited for', async () => {
        fresh.devnet.control.checkpoint();
        await fresh.bookTopUps();
        return (await fresh.opentill('restore', 'reconcile')).code === 0;
      });
      const released = await fresh.opentill('restore', 'release', '--reason', 'looked');
      expect(released).toMatchObject({ code: 0, errors: '' });
      // Except for what arrived before the scanner started.
      const gas = await sql<{ balance: bigint }>`
        select sum(balance) as balance from ledger_account where symbol = 'SUI' and kind in ('HOT_AVAILABLE', 'HOT_GAS')`.execute(
        fresh.admin,
      );
      const held = await fresh.sender.balances(fresh.wallet, [null]);
      expect(BigInt(gas.rows[0]!.balance)).toBe((held.amounts.get(null) ?? 0n) - 100n * 10n ** 9n);
    } finally {
      await fresh.close();
    }
  });
});
