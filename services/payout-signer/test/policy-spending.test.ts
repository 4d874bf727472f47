import { beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { Tx } from '@opentill/db/database';
import { baseUnits } from '@opentill/domain/money';
import { anOwnTransaction } from '@opentill/testkit/payout-scenario';
import { aMerchant, anEvmAddress, aPayout } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import type { SpentRow } from '../src/payouts/payout-facts.ts';
import { createSpending } from '../src/policy/spending.ts';
import { readSpent } from '../src/store/spent.ts';

const WALLET = anEvmAddress() as Address;
const KEY = { chain: 'ETH_SEPOLIA', wallet: WALLET } as const;

const { admin } = await openTestDatabase();
let merchantId: string;
let otherMerchantId: string;
beforeAll(async () => {
  [{ merchantId }, { merchantId: otherMerchantId }] = await Promise.all([
    aMerchant(admin.kysely),
    aMerchant(admin.kysely),
  ]);
});

type State = 'REQUESTED' | 'AUTHORISED' | 'SIGNED' | 'REFUSED' | 'EXPIRED';
interface Given {
  readonly state?: State;
  /** Time since the authorisation. Null: never authorised. */
  readonly ago?: string | null;
  /** Default for SIGNED: one transaction, as old as the authorisation. */
  readonly signed?: readonly { readonly ago: string; readonly nonce: number | null }[];
  readonly amount?: bigint;
  readonly of?: Parameters<typeof aPayout>[1];
}

/** `now()` is constant in the rolled-back transaction: edges are exact. */
async function spentOf(...given: readonly Given[]): Promise<readonly SpentRow[]> {
  let rows: readonly SpentRow[] = [];
  const undo = new Error('undo');
  const attempt = admin.kysely.transaction().execute(async (tx) => {
    for (const one of given) await put(tx, one);
    rows = await readSpent(tx, KEY);
    throw undo;
  });
  await expect(attempt).rejects.toBe(undo);
  return rows;
}

async function put(tx: Tx, given: Given): Promise<void> {
  const { state = 'SIGNED', ago = '0', amount = 1n, of = {} } = given;
  const { signed = state === 'SIGNED' ? [{ ago: ago ?? '0', nonce: null }] : [] } = given;
  const order = await aPayout(tx, {
    merchant_id: merchantId,
    amount,
    accepted_amount: amount,
    source_address: WALLET,
    ...of,
  });
  const reason = state === 'REFUSED' || state === 'EXPIRED' ? 'x' : null;
  await sql`insert into payout (order_pk, chain, wallet, state, expires_at, authorised_at, reason)
    values (${order.order_pk}, ${order.chain}, ${order.source_address}, ${state}, now() + interval '1 hour',
      now() - ${ago}::interval, ${reason})`.execute(tx);
  for (const { ago: signedAgo, nonce } of signed) {
    if (nonce !== null)
      await sql`insert into wallet_nonce (chain, wallet, nonce, state, order_pk)
        values (${order.chain}, ${order.source_address}, ${nonce}, 'TAKEN', ${order.order_pk}) on conflict do nothing`.execute(
        tx,
      );
    const { tx_hash: txHash } = await anOwnTransaction(tx, order, { nonce });
    await sql`update own_transaction set signed_at = now() - ${signedAgo}::interval where tx_hash = ${txHash}`.execute(
      tx,
    );
  }
}

async function sums(...given: readonly Given[]): Promise<readonly [bigint, bigint]> {
  const rows = await spentOf(...given);
  expect(rows.length).toBeLessThanOrEqual(1);
  return [rows[0]?.lastHour ?? 0n, rows[0]?.lastDay ?? 0n];
}

test.each<readonly [string, string, readonly [bigint, bigint]]>([
  ['just now', '0', [1n, 1n]],
  ['just inside the hour', '1 hour -1 microsecond', [1n, 1n]],
  ['an hour ago to the microsecond', '1 hour', [1n, 1n]],
  ['just outside the hour', '1 hour 1 microsecond', [0n, 1n]],
  ['just inside the day', '24 hours -1 microsecond', [0n, 1n]],
  ['a day ago to the microsecond', '24 hours', [0n, 1n]],
  ['just outside the day', '24 hours 1 microsecond', [0n, 0n]],
  ['long ago', '30 days', [0n, 0n]],
  // The database's clock was set back since.
  ['in what is the future now', '-2 hours', [1n, 1n]],
])('counts a payout signed %s', async (_when, ago, expected) => {
  expect(await sums({ state: 'SIGNED', ago })).toEqual(expected);
});

test.each(['0', '1 hour 1 microsecond', '24 hours 1 microsecond', '30 days', '-2 hours'])(
  'counts an authorised payout completely while it can be signed, after %s',
  async (ago) => {
    expect(await sums({ state: 'AUTHORISED', ago })).toEqual([1n, 1n]);
  },
);

test.each<readonly [State, string | null]>([
  ['REQUESTED', null],
  ['REFUSED', null],
  ['EXPIRED', null],
  // Authorised, but never signed.
  ['REFUSED', '0'],
  ['EXPIRED', '0'],
])('does not count a payout that is %s, authorised %s', async (state, ago) => {
  expect(await spentOf({ state, ago })).toEqual([]);
});

const [MINUTES, HOURS, DAYS] = ['10 minutes', '3 hours', '2 days'];
test.each<readonly [string, Given, readonly [bigint, bigint]]>([
  [
    'each transaction without a nonce',
    { signed: [MINUTES, HOURS, DAYS].map((ago) => ({ ago, nonce: null })) },
    [1n, 2n],
  ],
  ['each nonce', { signed: [MINUTES, HOURS, DAYS].map((ago, nonce) => ({ ago, nonce })) }, [1n, 2n]],
  [
    'fee bumps of a nonce once',
    { signed: [MINUTES, HOURS, HOURS].map((ago) => ({ ago, nonce: 5 })) },
    [0n, 1n],
  ],
  [
    'proven attempts and the one to be signed',
    { state: 'AUTHORISED', signed: [MINUTES, HOURS].map((ago) => ({ ago, nonce: null })) },
    [2n, 3n],
  ],
  [
    'attempts of what expired since',
    { state: 'EXPIRED', signed: [MINUTES, HOURS].map((ago) => ({ ago, nonce: null })) },
    [1n, 2n],
  ],
  [
    'an attempt with any authorised_at',
    { ago: '30 days', signed: [{ ago: MINUTES, nonce: null }] },
    [1n, 1n],
  ],
])('windows count %s', async (_what, given, expected) => {
  expect(await sums(given)).toEqual(expected);
});

test('counts waiting payouts separately until they are dropped', async () => {
  await admin.kysely.transaction().execute(async (tx) => {
    await put(tx, { amount: 1n, ago: '10 minutes' });
    await put(tx, { amount: 20n, state: 'REQUESTED', ago: null });
    await sql`update payout set obstacle = 'NEEDS_APPROVAL', waiting_since = now() where state = 'REQUESTED'`.execute(
      tx,
    );
    await put(tx, { amount: 300n, state: 'REQUESTED', ago: null });
    await put(tx, { amount: 4_000n, state: 'AUTHORISED' });
    const [row] = await readSpent(tx, KEY);
    expect(row).toMatchObject({ lastHour: 4_001n, lastDay: 4_001n, waiting: 20n });
    const payment = { countsAs: 'USDT', merchantId };
    const letIn = createSpending([row!], true);
    expect(letIn.of(payment)).toEqual({ lastHour: 4_001n, lastDay: 4_021n, merchantLastDay: 4_021n });
    letIn.dropWaiting({ ...payment, amountBaseUnits: baseUnits(20n) });
    expect(letIn.of(payment).lastDay).toBe(4_001n);
    expect(createSpending([row!], false).of(payment).lastDay).toBe(4_001n);
    const { rows } = await sql<{
      order_pk: string;
    }>`select order_pk from payout where state = 'AUTHORISED'`.execute(tx);
    const without = await readSpent(tx, KEY, [rows[0]!.order_pk]);
    expect(without).toMatchObject([{ lastHour: 1n, lastDay: 1n, waiting: 20n }]);
    await sql`delete from payout`.execute(tx);
    await sql`alter table own_transaction disable trigger own_transaction_kept`.execute(tx);
    await sql`delete from own_transaction`.execute(tx);
    await sql`alter table own_transaction enable trigger own_transaction_kept`.execute(tx);
  });
});

test('sums all payouts together', async () => {
  const mixed: readonly Given[] = [
    { amount: 1n, ago: '10 minutes' },
    { amount: 20n, ago: '2 hours' },
    { amount: 300n, ago: '2 days' },
    { amount: 4_000n, state: 'AUTHORISED', ago: '2 days' },
    { amount: 50_000n, state: 'EXPIRED', ago: '10 minutes' },
    { amount: 600_000n, state: 'REQUESTED', ago: null },
    { amount: 7_000_000n, state: 'AUTHORISED', ago: '1 minute' },
  ];
  expect(await sums(...mixed)).toEqual([7_004_001n, 7_004_021n]);
});

test('sums by symbol over all wallets of a chain, and by merchant over a day', async () => {
  const other = { merchant_id: otherMerchantId };
  const rows = await spentOf(
    { amount: 1n, ago: '10 minutes' },
    { amount: 20n, ago: '3 hours' },
    { amount: 300n, ago: '10 minutes', of: other },
    { amount: 4_000n, ago: '3 hours', of: other },
    { amount: 50_000n, ago: '26 hours', of: other },
    { amount: 600_000n, of: { source_address: anEvmAddress() } },
    { amount: 7_000_000n, of: { symbol: 'ETH', contract_address: null } },
    { amount: 80_000_000n, of: { chain: 'BSC_TEST' } },
  );
  const spending = createSpending(rows, true);
  expect(spending.of({ countsAs: 'USDT', merchantId })).toEqual({
    lastHour: 600_301n,
    lastDay: 604_321n,
    merchantLastDay: 600_021n,
  });
  expect(spending.of({ countsAs: 'USDT', merchantId: otherMerchantId })).toMatchObject({
    lastHour: 600_301n,
    merchantLastDay: 4_300n,
  });
  expect(spending.of({ countsAs: 'ETH', merchantId })).toEqual({
    lastHour: 7_000_000n,
    lastDay: 7_000_000n,
    merchantLastDay: 7_000_000n,
  });
});
