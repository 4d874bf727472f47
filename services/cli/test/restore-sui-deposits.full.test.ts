import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { baseUnits } from '@opentill/domain/money';
import { aCollection } from '@opentill/testkit/scenario';
import { sql } from 'kysely';
import { CHAIN, randomAddress, openSuiBooks, USDC, type SuiBooks } from './sui-wallet-world.ts';

let books: SuiBooks;
const AMOUNT = 25n * USDC;
beforeAll(async () => {
  books = await openSuiBooks();
});
afterAll(() => books.close());

async function paid(form: 'coin' | 'address'): Promise<Address> {
  const address = books.newKey();
  await aCollection(books.admin, {
    chain: CHAIN,
    family: 'SUI',
    symbol: 'USDC',
    contract_address: books.devnet.tokens.USDC,
    decimals: 6,
    address,
  });
  await books.devnet.control.fund(address, { symbol: 'USDC', amountBaseUnits: AMOUNT, form });
  return address;
}

async function book(): Promise<void> {
  await sql`
    insert into transfer_settlement (transfer_id, settled_version, order_pk, booked_amount, booked_symbol, bookings, credited)
    select t.transfer_id, t.version, d.order_pk, t.amount, t.symbol, 1, true
    from transfer t join deposit_address d on d.family = t.family and d.address = t.to_address
    where t.chain = ${CHAIN} on conflict do nothing`.execute(books.admin);
  await sql`
    with booked as (
      insert into ledger_transaction (ref, kind, order_pk)
      select 'test:' || s.transfer_id, 'DEPOSIT', s.order_pk from transfer_settlement s join deposit_address d using (order_pk)
      where d.family = 'SUI' on conflict do nothing returning ledger_tx_id, ref)
    insert into ledger_posting (ledger_tx_id, account_id, amount)
    select b.ledger_tx_id, ledger_account_for(l.kind, ${CHAIN}, 'USDC', null), l.amount
    from booked b, lateral (values ('DEPOSIT', ${String(AMOUNT)}::numeric), ('SUSPENSE', -${String(AMOUNT)}::numeric)) as l (kind, amount)`.execute(
    books.admin,
  );
}

it('records sweeps since the backup with amount and deposit address', async () => {
  const cold = randomAddress();
  const [free, whole, toHot] = [await paid('address'), await paid('coin'), await paid('coin')];
  await books.checkpoint();
  await book();
  await books.restore();
  const sweep = (from: Address, to: Address) => books.sign({ from, to, amountBaseUnits: baseUnits(AMOUNT) });
  const swept = [await sweep(free, cold), await sweep(whole, cold), await sweep(toHot, books.wallet)];
  for (const signed of swept) await books.send(signed);
  await books.checkpoint();
  await books.opentill('restore', 'reconcile');
  const { rows } = await sql<{ hash: string; wallet: string; to: string; amount: bigint; contract: string }>`
    select tx_hash as hash, wallet, to_address as "to", amount, contract_address as contract
    from forgotten_payment where chain = ${CHAIN}`.execute(books.admin);
  expect(new Set(rows.map((row) => JSON.stringify({ ...row, amount: String(row.amount) })))).toEqual(
    new Set(
      swept.map(({ txHash: hash, intent: { from, to } }) =>
        JSON.stringify({
          hash,
          wallet: from,
          to,
          amount: String(AMOUNT),
          contract: books.devnet.tokens.USDC,
        }),
      ),
    ),
  );
  expect(rows).toHaveLength(3);

  await books.age(1);
  await book();
  await books.bookTopUps();
  const { out } = await books.opentill('restore', 'reconcile', '--cold', cold);
  expect(out).toContain('3 movements recognised');
  const { rows: movements } = await sql`
    select o.source_address as "from", s.state, s.destination_kind as kind, o.amount::text as amount
    from movement m join orders o using (order_pk) join sweep s using (sweep_id)`.execute(books.admin);
  const done = { state: 'DONE', amount: String(AMOUNT) };
  expect(movements).toHaveLength(3);
  expect(movements).toEqual(
    expect.arrayContaining([
      { ...done, from: free, kind: 'COLD' },
      { ...done, from: whole, kind: 'COLD' },
      { ...done, from: toHot, kind: 'HOT' },
    ]),
  );
});

it('records no foreign transaction when no restore holds the chain', async () => {
  const address = await paid('address');
  await books.checkpoint();
  await sql`update restore_hold set released_at = now(), released_by = 'me', released_reason = 'test'`.execute(
    books.admin,
  );
  const signed = await books.sign({ from: address, to: randomAddress(), amountBaseUnits: baseUnits(AMOUNT) });
  await books.send(signed);
  await books.checkpoint();
  const { rows } = await sql`
    select from foreign_transaction where wallet = ${address}`.execute(books.admin);
  expect(rows).toEqual([]);
});
