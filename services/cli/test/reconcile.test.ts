import { afterAll, beforeAll, expect, it } from 'vitest';
import { sql } from 'kysely';
import { devAccount } from '@opentill/devnets/evm/accounts';
import {
  createReconcileWorld,
  HOT_WALLET,
  startSecondSource,
  USDT,
  type WorldOfBooks,
} from './create-reconcile-world.ts';

// A correct ledger is made wrong step by step. Each error must be reported, and is corrected before the next.
let world: WorldOfBooks;
beforeAll(async () => {
  world = await createReconcileWorld();
});
afterAll(() => world.close());

const COIN = 10n ** 18n;
const kinds = (one: { differences: readonly { kind: string }[] }) => one.differences.map(({ kind }) => kind);

it('finds ledger and chain equal to the base unit and prints what it compared', async () => {
  const paid = await world.order(world.newAddress());
  await world.booked(
    await world.seen(paid.address, await world.pay(paid.address, 250n * USDT), 250n * USDT),
    paid,
    250n * USDT,
    true,
  );
  const late = await world.order(world.newAddress(), 'USDC');
  const lateId = await world.seen(late.address, await world.pay(late.address, 7n, 'USDC'), 7n, 'USDC');
  await world.booked(lateId, late, 7n, false);
  await world.db
    .insertInto('unmatched_deposit')
    .values({ transfer_id: lateId, merchant_id: world.merchantId, order_pk: late.order_pk, reason: 'LATE' })
    .execute();
  await world.order(world.newAddress()); // never paid
  await world.toppedUp(1_000n * USDT);
  await world.sendCoin(HOT_WALLET, COIN);
  await sql`select book_gas_top_up('BSC_TEST:first:tBNB', 'BSC_TEST', 'tBNB', ${COIN.toString()}::numeric)`.execute(
    world.db,
  );
  await world.paidOut(40n * USDT, true);
  const height = await world.verified();

  const { code, out, errors } = await world.reconcile([]);
  expect({ code, errors }).toEqual({ code: 0, errors: [] });
  expect(out).toContain(`BSC_TEST at block ${height} (0x`);
  expect(out).toMatch(/deposit addresses +ledger 250\.00 USDT +chain 250\.00 USDT +equal/);
  expect(out).toMatch(/hot wallets +ledger 960\.00 USDT +chain 960\.00 USDT +equal/);
  expect(out).toMatch(/hot wallets +ledger 0\.99\d+ tBNB +chain 0\.99\d+ tBNB +equal/);
  expect(out).toContain("USDT: merchants' 250.00 USDT, paid out 40.00 USDT");
  expect(out).toContain('USDC: not credited 0.000007 USDC, of that unmatched 0.000007 USDC');
  expect(out).toContain('addresses read: 3 for deposits, 1 of hot wallets');
});

it('reports a payment that no source showed, but not with --paid-only', async () => {
  const order = await world.order(world.newAddress());
  const tx = await world.pay(order.address, 5n * USDT);
  await world.verified();

  const one = await world.reconcile();
  expect(one.code).toBe(1);
  expect(one.errors).toEqual(['opentill: 1 difference between ledger and chain.']);
  expect(one.differences).toMatchObject([
    { kind: 'DEPOSIT_UNSEEN', subject: order.address, amount: `${5n * USDT}` },
  ]);
  expect(one.differences[0]?.mend).toMatch(/opentill rescan --chain BSC_TEST --from \d+ --to \d+$/);
  expect(
    one.lines.find(({ symbol, what }) => symbol === 'USDT' && what === 'deposit addresses'),
  ).toMatchObject({
    ledger: `${250n * USDT}`,
    onChain: `${255n * USDT}`,
  });
  expect((await world.reconcile(['--json', '--paid-only'])).differences).toEqual([]);

  // Until it is booked it is in progress; if that takes too long, it is a difference.
  const id = await world.seen(order.address, tx, 5n * USDT);
  const young = await world.reconcile();
  expect(young).toMatchObject({
    code: 0,
    explanations: [{ kind: 'DEPOSIT_NOT_BOOKED', amount: `${5n * USDT}` }],
  });
  await world.grewOld();
  expect(kinds(await world.reconcile())).toEqual(['BOOKING_LATE']);
  await world.booked(id, order, 5n * USDT, true);
  expect((await world.reconcile()).code).toBe(0);
});

it('reports an address that was emptied', async () => {
  const holder = devAccount(9);
  const order = await world.order(holder.address);
  await world.booked(
    await world.seen(order.address, await world.pay(order.address, 3n * USDT), 3n * USDT),
    order,
    3n * USDT,
    true,
  );
  await world.pay(devAccount(8).address, USDT, 'USDT', holder);
  await world.setCoin(holder.address, 0n);
  await world.verified();
  const one = await world.reconcile();
  expect(one.differences).toMatchObject([
    { kind: 'DEPOSIT_MISSING', subject: order.address, amount: `${-USDT}` },
  ]);
  expect(one.differences[0]?.mend).toContain('charged a fee');
  await world.pay(order.address, USDT); // money returned
  await world.verified();
  expect((await world.reconcile()).code).toBe(0);
});

it('reports accounts that differ from the sum of their rows', async () => {
  await world.post('CREDIT', 'USDT', [
    ['SUSPENSE', world.merchantId, -USDT],
    ['MERCHANT', world.merchantId, USDT],
  ]);
  const one = await world.reconcile();
  expect(one.differences).toMatchObject([
    { kind: 'ACCOUNT_WRONG', subject: `MERCHANT of ${world.merchantId}`, amount: `${-USDT}` },
    { kind: 'ACCOUNT_WRONG', subject: `SUSPENSE of ${world.merchantId}`, amount: `${USDT}` },
  ]);
  await world.post('CREDIT', 'USDT', [
    ['SUSPENSE', world.merchantId, USDT],
    ['MERCHANT', world.merchantId, -USDT],
  ]);
  expect((await world.reconcile()).code).toBe(0);
});

it('explains a mined payout until it is booked', async () => {
  const order = await world.paidOut(11n * USDT, false);
  await world.verified();
  const one = await world.reconcile();
  expect(one.code).toBe(0);
  expect(one.explanations).toMatchObject([
    { kind: 'PAYOUT_NOT_BOOKED', subject: order.order_id, amount: `${-11n * USDT}` },
    { kind: 'FEE_NOT_BOOKED', subject: HOT_WALLET },
  ]);
  await world.grewOld();
  expect(kinds(await world.reconcile())).toEqual(['BOOKING_LATE', 'BOOKING_LATE']);
  const { tx_hash } = await world.db
    .selectFrom('own_transaction')
    .select('tx_hash')
    .where('order_pk', '=', order.order_pk)
    .executeTakeFirstOrThrow();
  await world.bookPayout(order, tx_hash);
  expect(await world.reconcile()).toMatchObject({ code: 0, explanations: [] });
});

it('reports unseen, unbooked and missing top-ups', async () => {
  const tx = await world.pay(HOT_WALLET, 2n * USDT);
  await world.verified();
  expect((await world.reconcile()).differences).toMatchObject([
    { kind: 'HOT_WALLET_MORE', symbol: 'USDT', amount: `${2n * USDT}` },
  ]);
  const id = await world.seen(HOT_WALLET, tx, 2n * USDT);
  expect((await world.reconcile()).explanations).toMatchObject([{ kind: 'TOP_UP_NOT_BOOKED' }]);
  const settle = async (transferId: number) =>
    sql`select settle_hot_wallet_deposits(${JSON.stringify([{ transferId, version: 1 }])}::jsonb)`.execute(
      world.db,
    );
  await settle(id);
  expect((await world.reconcile()).code).toBe(0);

  // The booking from the chain replaces the one by hand.
  const early = await world.pay(HOT_WALLET, 4n * USDT);
  const earlyId = await world.seen(HOT_WALLET, early, 4n * USDT, 'USDT', 'DETECTED');
  await sql`select book_top_up(${`BSC_TEST:${early.txHash}:USDT`}, 'BSC_TEST', 'USDT', ${(4n * USDT).toString()}::numeric)`.execute(
    world.db,
  );
  expect(await world.reconcile()).toMatchObject({ code: 0, explanations: [{ kind: 'TOP_UP_AHEAD' }] });
  await world.verified();
  await world.db
    .updateTable('transfer')
    .set({ state: 'VERIFIED' })
    .where('transfer_id', '=', earlyId)
    .execute();
  expect(await world.reconcile()).toMatchObject({ code: 0, explanations: [] });
  await settle(earlyId);
  expect(await world.reconcile()).toMatchObject({ code: 0, explanations: [] });
});

it('books coin for fees on request, once even for concurrent runs', async () => {
  await world.sendCoin(HOT_WALLET, 2n * COIN);
  await world.verified();
  expect((await world.reconcile()).differences).toMatchObject([
    { kind: 'GAS_NOT_BOOKED', symbol: 'tBNB', amount: `${2n * COIN}` },
  ]);
  const both = await Promise.all([world.reconcile(['--book-gas']), world.reconcile(['--book-gas'])]);
  expect(both.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, expect.any(Number)]);
  expect(await world.reconcile()).toMatchObject({ code: 0, differences: [] });
  const { rows } = await sql<{ booked: bigint }>`
    select sum(p.amount) as booked from ledger_posting p join ledger_transaction t using (ledger_tx_id)
      join ledger_account a using (account_id) where t.kind = 'GAS_TOP_UP' and a.kind = 'HOT_GAS'`.execute(
    world.db,
  );
  expect(rows[0]?.booked).toBe(3n * COIN);
  const audited = await world.db
    .selectFrom('audit_entry')
    .selectAll()
    .where('action', '=', 'bookGas')
    .execute();
  expect(audited.map(({ operator, subject }) => [operator, subject])).toContainEqual([
    expect.stringMatching(/^database:/),
    'BSC_TEST',
  ]);
});

it('books a top-up that the chain shows once, and rejects one never sent', async () => {
  const sent = await world.pay(HOT_WALLET, 6n * USDT);
  await world.verified();
  const book = (amount: string, txid = sent.txHash) =>
    world.opentill(`wallet book-top-up --chain BSC_TEST --symbol USDT --amount ${amount} --txid ${txid}`);
  const expectRefused = (
    { code, output }: { readonly code: number; readonly output: string },
    words: RegExp,
  ) => {
    expect(code).toBe(1);
    expect(output).toMatch(words);
  };
  expectRefused(await book('6.5'), /hold 6\.00 USDT more than the ledger, not 6\.50 USDT/);
  const ref = `BSC_TEST:${sent.txHash}:USDT`;
  expect(await book('6')).toEqual({ code: 0, output: `Booked 6 USDT on BSC_TEST: ${ref}` });
  const shouted = sent.txHash.toUpperCase().replace('0X', '0x');
  expect(await book('6.00', shouted)).toEqual({ code: 0, output: 'Already booked; nothing changed.' });
  expectRefused(await book('5'), /another amount/);
  expectRefused(await book('0.01', world.aHash()), /hold 0\.00 USDT more than/);
  expect(await world.reconcile()).toMatchObject({ code: 0, differences: [] });
  const audited = await world.db
    .selectFrom('audit_entry')
    .select(['operator', 'details'])
    .where('action', '=', 'bookTopUp')
    .orderBy('entry_id')
    .execute();
  expect(audited.map(({ operator: by, details }) => [by, details['booked']])).toEqual([
    ['database:opentill_ops', true],
    ['database:opentill_ops', false],
  ]);
});

it('explains a swept address and reports coin that was taken from it', async () => {
  const holder = devAccount(7);
  await world.setCoin(holder.address, 0n);
  const order = await world.order(holder.address);
  const id = await world.seen(order.address, await world.pay(order.address, 30n * USDT), 30n * USDT);
  await world.booked(id, order, 30n * USDT, true);
  const fee = await world.swept(order, holder, 30n * USDT, COIN / 100n);
  const left = COIN / 100n - fee;
  await world.verified();

  const one = await world.reconcile(['--json', '--addresses']);
  expect(one).toMatchObject({ code: 0, explanations: [] });
  expect(
    one.lines.find(({ symbol, what }) => symbol === 'tBNB' && what === 'deposit addresses'),
  ).toMatchObject({ ledger: `${left}`, onItsWay: '0', unasked: '0', onChain: `${left}` });
  const accounts = one.addresses.filter(({ address }) => address === order.address);
  expect(accounts).toMatchObject([
    { symbol: 'USDT', received: `${30n * USDT}`, swept: `${30n * USDT}`, unswept: '0', unexplained: '0' },
    { symbol: 'tBNB', brought: `${COIN / 100n}`, fees: `${fee}`, unswept: `${left}`, onChain: `${left}` },
  ]);
  expect(one.addresses.map(({ unexplained }) => unexplained)).toEqual(one.addresses.map(() => '0'));
  const { out } = await world.reconcile(['--addresses']);
  expect(out).toContain(
    `BSC_TEST ${order.address}  received 30.00 USDT, swept 30.00 USDT, unswept 0.00 USDT, unexplained 0`,
  );
  expect(out).toMatch(
    new RegExp(
      `${order.address}  top-ups for fees 0.01 tBNB, fees 0\\.\\d+ tBNB, unswept 0\\.\\d+ tBNB, unexplained 0`,
    ),
  );
  expect(out).toMatch(/received 0.000007 USDC, swept .*, unmatched 0.000007 USDC, unexplained 0/);

  await world.setCoin(order.address, left - 1n); // stolen
  await world.verified();
  const stolen = await world.reconcile();
  expect(stolen.code).toBe(1);
  expect(stolen.differences).toMatchObject([
    { kind: 'DEPOSIT_MISSING', symbol: 'tBNB', subject: order.address, amount: '-1' },
  ]);
  expect(stolen.differences[0]?.mend).toContain('treat the words as stolen');
  await world.setCoin(order.address, left);
  await world.verified();
});

it('explains coin from third parties on deposit addresses without a difference', async () => {
  const order = await world.order(world.newAddress());
  await world.sendCoin(order.address, COIN);
  await world.verified();
  const one = await world.reconcile(['--json', '--addresses']);
  expect(one).toMatchObject({
    code: 0,
    differences: [],
    explanations: [{ kind: 'COIN_UNASKED', symbol: 'tBNB', subject: '1 deposit address', amount: `${COIN}` }],
  });
  expect(one.addresses.filter(({ address }) => address === order.address)).toMatchObject([
    { symbol: 'tBNB', received: '0', unasked: `${COIN}`, onChain: `${COIN}`, unexplained: '0' },
  ]);
  expect((await world.reconcile([])).out).toMatch(
    /deposit addresses +ledger 0\.0\d+ tBNB, sent by others 1 tBNB +chain 1\.0\d+ tBNB +equal/,
  );
  await world.setCoin(order.address, 0n);
  await world.verified();
});

it('compares accounts of deposit addresses and cold storage with their rows', async () => {
  const shift = async (by: bigint) => {
    await world.post('NETWORK_FEE', 'tBNB', [
      ['DEPOSIT_GAS', null, by],
      ['NETWORK_FEE', null, -by],
    ]);
    await world.post('PAYOUT', 'USDT', [
      ['COLD', null, by],
      ['HOT_AVAILABLE', null, -by],
    ]);
  };
  await shift(1n);
  const { differences } = await world.reconcile();
  expect(differences.map(({ kind, subject }) => `${kind} ${subject}`)).toEqual(
    expect.arrayContaining(['ACCOUNT_WRONG COLD', 'ACCOUNT_WRONG DEPOSIT_GAS']),
  );
  await shift(-1n);
  expect(await world.reconcile()).toMatchObject({ code: 0, differences: [] });
});

it('compares every number with a second source and reports where they differ', async () => {
  const [{ address }] = (await world.db
    .selectFrom('deposit_address')
    .select('address')
    .orderBy('address')
    .execute()) as [{ address: string }];
  const liar = await startSecondSource(world.rpcUrl, ({ method, params }) =>
    method === 'eth_call' && JSON.stringify(params).includes(address.slice(2))
      ? { result: `0x${'0'.repeat(63)}1` }
      : undefined,
  );
  try {
    const one = await world.reconcile(['--json'], [world.rpcUrl, liar.url]);
    expect(one.code).toBe(1);
    expect(new Set(kinds(one))).toEqual(new Set(['SOURCES_DISAGREE']));
    expect(new Set(one.differences.map(({ subject }) => subject))).toEqual(new Set([address]));
  } finally {
    liar.close();
  }
});

it('continues at a newer block when nodes prune the state of the first', async () => {
  const first = await world.verified();
  await world.pay(devAccount(8).address, 1n);
  let asked = 0;
  let second: Promise<number> | undefined;
  const forgetful = await startSecondSource(world.rpcUrl, async ({ method, params }) => {
    if (method !== 'eth_call' || params[1] !== `0x${first.toString(16)}`) return undefined;
    asked += 1;
    if (asked <= 2) return undefined; // the hot wallet is read first
    await (second ??= world.verified());
    return { error: { code: -32000, message: 'missing trie node 00 (path ) state 0x00 is not available' } };
  });
  try {
    const one = await world.reconcile(['--json'], [forgetful.url]);
    expect(one).toMatchObject({ code: 0, chain: { heights: [first, await second] } });
  } finally {
    forgetful.close();
  }
});

it('reports a wallet that is halted for unknown transactions, only on its chain', async () => {
  await world.verified();
  const halt = (chain: string, wallet: string | null, kind: string) =>
    sql`insert into wallet_halt (halt_id, chain, wallet, kind, reason, set_by)
      values (gen_random_uuid(), ${chain}, ${wallet}, ${kind}, 'nonces up to 7 were sent', 'payout-signer')`.execute(
      world.db,
    );
  const before = kinds(await world.reconcile());
  await halt('ETH_SEPOLIA', HOT_WALLET, 'RESTORED');
  await halt('BSC_TEST', null, 'OPERATOR');
  expect(kinds(await world.reconcile())).toEqual(before);
  await halt('BSC_TEST', HOT_WALLET, 'RESTORED');
  const one = await world.reconcile();
  expect(one.code).toBe(1);
  expect(kinds(one)).toEqual([...before, 'WALLET_IN_DOUBT']);
  const found = one.differences.at(-1);
  expect(found).toMatchObject({ subject: HOT_WALLET, amount: null });
  expect(found).toMatchObject({ detail: expect.stringContaining('nonces up to 7 were sent') });
  await sql`update wallet_halt set released_at = now() where released_at is null`.execute(world.db);
  expect(kinds(await world.reconcile())).toEqual(before);
});

it('reports a foreign deposit address although ledger and chain agree', async () => {
  await world.verified();
  const before = kinds(await world.reconcile());
  const { rows } = await sql<{ address: string }>`
    insert into foreign_deposit_address (family, address, derivation_index, order_pk)
    select d.family, d.address, d.derivation_index, d.order_pk from deposit_address d join orders o using (order_pk)
    where o.chain = 'BSC_TEST' limit 1 returning address`.execute(world.db);
  const one = await world.reconcile();
  expect(kinds(one).filter((kind) => kind !== 'ADDRESS_NOT_OURS')).toEqual(before);
  expect(one.differences.find(({ kind }) => kind === 'ADDRESS_NOT_OURS')?.subject).toBe(rows[0]?.address);
  await sql`delete from foreign_deposit_address`.execute(world.db);
});

it('reports foreign transactions of the hot wallet and the missing money', async () => {
  await world.pay(devAccount(8).address, 9n * USDT, 'USDT', devAccount(6));
  await world.verified();
  const one = await world.reconcile();
  expect(kinds(one)).toEqual(['HOT_WALLET_LESS', 'HOT_WALLET_LESS', 'TRANSACTIONS_FOREIGN']);
  expect(one.differences[0]).toMatchObject({ symbol: 'USDT', amount: `${-9n * USDT}` });
  expect(one.differences[0]?.mend).toContain('did not sign');
});
