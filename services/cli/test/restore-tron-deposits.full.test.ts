import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { baseUnits } from '@opentill/domain/money';
import { sql } from 'kysely';
import {
  CHAIN,
  randomAddress,
  openTronBooks,
  USDT,
  type Signed,
  type TronBooks,
} from './tron-wallet-world.ts';

// No count shows payments of TRON deposit addresses: every block since the backup is read for them and for fee top-ups,
// and each is booked once.

const COLD = randomAddress();
const STRANGER = randomAddress();
const KNOWN = randomAddress();
const TRX = 1_000_000n;

let books: TronBooks;
const accounts = { swept: 3, toHot: 4, brought: 5, stolen: 6, lent: 7, other: 8 } as const;
const opentill = (line: string) => books.opentill(...line.split(' '));
const addressOf = (name: keyof typeof accounts) => books.devnet.accounts[accounts[name]]!.address as Address;

async function pay(from: Address, to: Address, amount: bigint, isCoin = false): Promise<Signed> {
  const signed = await books.sign({
    from,
    to,
    amountBaseUnits: baseUnits(amount),
    ...(isCoin ? { contract: null } : {}),
  });
  await books.send(signed);
  return signed;
}

async function lend(address: Address): Promise<void> {
  const [sweepId, orderPk] = [crypto.randomUUID(), crypto.randomUUID()];
  await sql`insert into sweep (sweep_id, chain, family, address, symbol, contract_address, amount, destination, destination_kind, method,
      cost_estimate) values (${sweepId}, ${CHAIN}, 'TRON', ${address}, 'USDT', ${books.devnet.tokens.USDT}, ${100n * USDT}, ${KNOWN}, 'COLD',
      'STAKE', 1)`.execute(books.admin);
  await sql`select plan_movement(${JSON.stringify({
    orderPk,
    chain: CHAIN,
    kind: 'DELEGATE',
    sweepId,
    symbol: 'TRX',
    contract: null,
    decimals: 6,
    displayDecimals: 6,
    amount: TRX.toString(),
    wallet: books.wallet,
    receiver: address,
    seconds: 3_600,
  })}::jsonb)`.execute(books.admin);
  await sql`update payout set state = 'AUTHORISED', authorised_at = now() where order_pk = ${orderPk}`.execute(
    books.admin,
  );
  await sql`update payout set state = 'SIGNED', first_sent_at = now(), money = 'PAID_OUT' where order_pk = ${orderPk}`.execute(
    books.admin,
  );
  await sql`update orders set status = 'SUCCESS' where order_pk = ${orderPk}`.execute(books.admin);
}
const openSweeps = async () => {
  const { rows } = await sql<{ address: string; kinds: string[] }>`
    select s.address, array_agg(m.kind order by m.created_at) as kinds from sweep s join movement m using (sweep_id)
    where s.state = 'OPEN' group by 1`.execute(books.admin);
  return Object.fromEntries(rows.map(({ address, kinds }) => [address, kinds]));
};

const movements = async () => {
  const { rows } = await sql<{ kind: string; money: string; state: string | null; n: number }>`
    select m.kind, p.money, s.state, count(*)::int as n from movement m join payout p using (order_pk) left join sweep s using (sweep_id)
    where m.kind <> 'DELEGATE' group by 1, 2, 3 order by 1, 2, 3`.execute(books.admin);
  return rows.map(({ kind, money, state, n }) => `${n} ${kind} ${money} of ${state}`);
};
const balance = async (kind: string, symbol = 'USDT') => {
  const { rows } = await sql<{ balance: bigint }>`
    select coalesce(sum(balance), 0) as balance from ledger_account where kind = ${kind} and symbol = ${symbol}`.execute(
    books.admin,
  );
  return rows[0]?.balance;
};

let sent: readonly Signed[];
beforeAll(async () => {
  books = await openTronBooks('restore deposits');
  await sql`insert into chain_family (chain, family) values (${CHAIN}, 'TRON') on conflict do nothing`.execute(
    books.admin,
  );
  for (const place of Object.values(accounts))
    await books.deposited(books.devnet.accounts[place]!, 100n * USDT);
  await books.mine(4);
  // No other step was done for these.
  for (const name of ['lent', 'other'] as const) await lend(addressOf(name));
  await books.restore(0);
  // Not in any database: fee top-ups, sweeps, the amount above the float, and a theft.
  const fees: Signed[] = [];
  for (const name of ['swept', 'toHot', 'brought'] as const)
    fees.push(await pay(books.wallet, addressOf(name), 20n * TRX, true));
  await books.mine();
  sent = [
    ...fees,
    await pay(addressOf('swept'), COLD, 100n * USDT),
    await pay(addressOf('toHot'), books.wallet, 60n * USDT),
    await pay(books.wallet, COLD, 7n * USDT),
    await pay(addressOf('lent'), KNOWN, 100n * USDT),
    await pay(addressOf('other'), KNOWN, 5n * USDT),
  ];
  await pay(addressOf('stolen'), STRANGER, 100n * USDT);
  await books.mine(6);
});
afterAll(() => books.close());

it('finds payments of deposit addresses in blocks and needs --cold for new receivers', async () => {
  const { code, out } = await opentill('restore reconcile');
  expect(code).not.toBe(0);
  expect(out).toContain(
    `to ${COLD}, which no sweep in the backup names; if it is cold storage, add --cold ${COLD}`,
  );
  expect(out).toContain(`to ${STRANGER}, which no sweep in the backup names`);
  expect(await movements()).toEqual([
    '3 GAS_TOP_UP RESERVED of ABANDONED',
    '2 SWEEP RESERVED of DONE',
    '1 SWEEP RESERVED of OPEN',
  ]);
});

it('keeps sweeps open for which energy was lent, so that it is reclaimed', async () => {
  expect(await openSweeps()).toEqual({
    [addressOf('lent')]: ['DELEGATE', 'SWEEP'],
    [addressOf('other')]: ['DELEGATE'],
  });
});

it('adopts each payment as its movement, once', async () => {
  for (let times = 0; times < 2; times += 1) await opentill(`restore reconcile --cold ${COLD}`);
  expect(await movements()).toEqual([
    '3 GAS_TOP_UP RESERVED of ABANDONED',
    '3 SWEEP RESERVED of DONE',
    '1 SWEEP RESERVED of OPEN',
    '1 TO_COLD RESERVED of null',
  ]);
  expect((await opentill(`restore reconcile --cold ${COLD}`)).out).not.toContain('decide payment');
  const { rows } = await sql<{ tx_hash: string; wallet: string }>`
    select tx_hash, wallet from payout_attempt order by tx_hash`.execute(books.admin);
  expect(new Set(rows.map((row) => row.tx_hash))).toEqual(new Set(sent.map(({ txHash }) => txHash)));
});

it('settles adopted movements and releases when no old transaction can land', async () => {
  for (const signed of sent) await books.recordVerified(signed);
  await sql`select settle_payout_money(array(select order_pk from payout))`.execute(books.admin);
  expect(await balance('COLD')).toBe(212n * USDT);
  expect(await balance('DEPOSIT')).toBe(335n * USDT); // in the ledger; 100 of it were stolen
  expect(await balance('DEPOSIT_GAS', 'TRX')).toBe(60n * TRX);
  const { rows } = await sql<{ address: string; free: bigint }>`
    select address, received - swept - reserved as free from deposit_balance where symbol = 'USDT'`.execute(
    books.admin,
  );
  const left = new Map(rows.map(({ address, free }) => [address, free]));
  expect([left.get(addressOf('swept')), left.get(addressOf('toHot'))]).toEqual([0n, 40n * USDT]);
  expect((await opentill('restore release --reason looked')).out).toContain(
    'until then transactions of the lost machine',
  );
  await books.age(2);
  await books.mine();
  expect(await opentill(`restore release --cold ${COLD} --reason looked`)).toMatchObject({
    code: 0,
    out: expect.stringContaining('1 wallets sign again'),
  });
  expect(await movements()).toEqual([
    '3 GAS_TOP_UP PAID_OUT of ABANDONED',
    '3 SWEEP PAID_OUT of DONE',
    '1 SWEEP PAID_OUT of OPEN',
    '1 TO_COLD PAID_OUT of null',
  ]);
});
