import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { Gathering } from '@opentill/chain/expiring-sender';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { Database, Db } from '@opentill/db/database';
import { keepLease, type Lease } from '@opentill/db/lease';
import { baseUnits } from '@opentill/domain/money';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { aChainCursor, aMerchant, aPayout } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import type { OtherFee } from '../../src/expiring/store/attempt-facts.ts';
import type { AttemptStore, CommitFacts, SignedPayment } from '../../src/expiring/store/attempt-store.ts';
import { createAttemptStore } from '../../src/expiring/store/create-store.ts';
import { readFeesElsewhere } from '../../src/expiring/store/fees-of-other-wallets.ts';

// The hot wallet's SUI also sponsors sweeps of deposit addresses, each with its own driver. SUI that one driver has
// reserved is never available to another.

const CHAIN = 'SUI_TEST';
const USDT = 'usdt' as TokenContract;
const EPOCH = 7;
const aWallet = (): Address => `0x${randomBytes(32).toString('hex')}` as Address;
const aDigest = (): TxHash => randomBytes(32).toString('hex') as TxHash;

let database: TestDatabase;
let admin: Db;
let signer: Database;
let merchantId: string;
let closeAdmin: () => Promise<void>;
let uniqueMs = 1;
beforeAll(async () => {
  database = await createTestDatabase();
  const opened = database.open('admin');
  [admin, closeAdmin] = [opened.kysely, opened.close];
  signer = database.open('signer');
  ({ merchantId } = await aMerchant(admin));
  await aChainCursor(admin, { chain: CHAIN, family: 'SUI', verified_epoch: EPOCH });
});
afterAll(async () => {
  await signer.close();
  await closeAdmin();
  await database.drop();
});

interface Wallet {
  readonly address: Address;
  readonly store: AttemptStore;
  readonly lease: Lease;
}
const storeOf = (wallet: Address, isSponsoring: boolean): AttemptStore =>
  createAttemptStore(signer.kysely, { chain: CHAIN, wallet }, { newId, clock: systemClock, isSponsoring });
async function driverOf(address: Address): Promise<Wallet> {
  const db = signer.kysely;
  const keeper = keepLease({
    db,
    schema: 'signer',
    name: `wallet/${address}`,
    holder: 'test',
    ttlMs: 600_000,
  });
  return { address, store: storeOf(address, true), lease: (await keeper.acquire())! };
}

async function payment(
  wallet: Address,
  costBaseUnits: bigint,
  of: Partial<{ amount: bigint; native: true }> = {},
) {
  const { amount = 100n, native } = of;
  const order = await aPayout(admin, {
    merchant_id: merchantId,
    chain: CHAIN,
    contract_address: native === true ? null : USDT,
    symbol: native === true ? 'SUI' : 'USDT',
    amount,
    accepted_amount: amount,
    address: aWallet(),
    source_address: wallet,
  });
  await sql`insert into payout (order_pk, chain, wallet, state, expires_at, authorised_at)
    values (${order.order_pk}, ${CHAIN}, ${wallet}, 'AUTHORISED', now() + interval '1 hour', now())`.execute(
    admin,
  );
  uniqueMs += 1;
  const validity = {
    expiresMs: 10 ** 12,
    uniqueMs,
    reference: { height: 1, hash: 'h' as BlockHash },
    epochs: { first: EPOCH, last: EPOCH },
  };
  const signed = { txHash: aDigest(), raw: randomBytes(4), validity, feeLimitBaseUnits: costBaseUnits };
  const made: SignedPayment = {
    orderPk: order.order_pk,
    contract: native === true ? null : USDT,
    to: order.address as Address,
    amountBaseUnits: baseUnits(amount),
    costBaseUnits,
    signed,
  };
  return made;
}

const gathering = (fee: bigint): Gathering => ({
  txHash: aDigest(),
  raw: randomBytes(4),
  contract: USDT,
  amountBaseUnits: baseUnits(5n),
  feeLimitBaseUnits: fee,
});

const sumOf = (fees: readonly OtherFee[]): bigint => fees.reduce((sum, fee) => sum + fee.baseUnits, 0n);
const feesSeenBy = async (wallet: Address): Promise<bigint> =>
  sumOf(await readFeesElsewhere(signer.kysely, { chain: CHAIN, wallet }));
const save = ({ store, lease }: Wallet, made: SignedPayment) => store.saveSigned(lease, [made], () => []);

let hot: Wallet;
let deposits: readonly [Wallet, Wallet];
beforeEach(async () => {
  await sql`update payout_attempt set state = 'SETTLED' where state = 'OPEN'`.execute(admin);
  await sql`update chain_cursor set verified_epoch = verified_epoch where chain = ${CHAIN}`.execute(admin);
  await sql`delete from hot_wallet`.execute(admin);
  hot = await driverOf(aWallet());
  deposits = [await driverOf(aWallet()), await driverOf(aWallet())];
});
/** The scenario treats wallets that sign payouts as hot wallets. */
async function onlyHot(...wallets: readonly Wallet[]): Promise<void> {
  await sql`delete from hot_wallet where address <> all(${wallets.map(({ address }) => address)}::text[])`.execute(
    admin,
  );
}

describe('reserved SUI of the hot wallet', () => {
  test('reserves SUI for open attempts of other wallets at their highest cost', async () => {
    const otherHot = await driverOf(aWallet());
    const [one, two] = deposits;
    const mine = await payment(hot.address, 5n, { amount: 1_000n, native: true });
    for (const [wallet, made] of [
      [hot, mine],
      [otherHot, await payment(otherHot.address, 11n)],
      [one, await payment(one.address, 70n)],
    ] as const)
      expect(await save(wallet, made)).toEqual({ kind: 'SAVED' });
    await onlyHot(hot, otherHot);
    expect(await feesSeenBy(hot.address)).toBe(70n);
    expect(await feesSeenBy(one.address)).toBe(1_005n + 11n);
    expect(await feesSeenBy(two.address)).toBe(1_005n + 11n + 70n);
    const besides = async (store: AttemptStore) => {
      const seen: CommitFacts[] = [];
      const options = { requested: 1, unsigned: 1, everyWaiting: true, approvers: [], approvalWaitMs: 1 };
      await store.saveSigned(two.lease, [], (found) => (seen.push(found), []));
      const { otherFees } = await store.readView(options);
      return [sumOf(otherFees), ...seen.map((found) => sumOf(found.otherFees))];
    };
    expect(await besides(two.store)).toEqual([1_086n, 1_086n]);
    // Without sponsoring, each address pays for itself.
    expect(await besides(storeOf(two.address, false))).toEqual([0n, 0n]);
    await sql`update payout_attempt set state = 'SETTLED' where tx_hash = ${mine.signed.txHash}`.execute(
      admin,
    );
    expect(await feesSeenBy(two.address)).toBe(11n + 70n);
  });

  test('reserves SUI for the gathering of coins while it may land', async () => {
    const live = gathering(3n);
    const none = (): boolean => true;
    for (const [one, last] of [
      [live, EPOCH],
      [gathering(50n), EPOCH - 1],
    ] as const)
      expect(await hot.store.saveGathering(hot.lease, one, last, none)).toBe(true);
    for (const { address } of [hot, ...deposits]) expect(await feesSeenBy(address)).toBe(3n);
    expect((await hot.store.openGatherings()).map(({ txHash }) => txHash)).toEqual([live.txHash]);
    await sql`insert into own_transaction_fate (chain, tx_hash, family, block_height, block_hash, block_time, state, succeeded,
        delivered, network_fee) values (${CHAIN}, ${live.txHash}, 'SUI', 1, 'x', now(), 'VERIFIED', true, 5, 2)`.execute(
      admin,
    );
    expect(await feesSeenBy(hot.address)).toBe(0n);
  });
});

describe('two wallets that use the same SUI concurrently', () => {
  const THERE = 10n;
  /** True if both fit into the SUI that is not reserved at commit. */
  const isThere = (fees: readonly OtherFee[], cost: bigint, there = THERE): boolean =>
    sumOf(fees) + cost <= there;

  test('reserves SUI only once for two wallets that commit concurrently', async () => {
    for (let round = 0; round < 6; round += 1) {
      await sql`update payout_attempt set state = 'SETTLED' where state = 'OPEN'`.execute(admin);
      const made = [await payment(deposits[0].address, 6n), await payment(deposits[1].address, 6n)] as const;
      await onlyHot(hot);
      // Both have read a balance that suffices for either.
      expect(await Promise.all(deposits.map(({ address }) => feesSeenBy(address)))).toEqual([0n, 0n]);
      const outcomes = await Promise.all(
        deposits.map(({ store, lease }, place) => {
          const one = made[place]!;
          return store.saveSigned(lease, [one], ({ otherFees }) =>
            isThere(otherFees, one.costBaseUnits) ? [] : [one.orderPk],
          );
        }),
      );
      expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['GONE', 'SAVED']);
    }
  });

  test('reserves SUI only once for a sweep and a gathering', async () => {
    const [one] = deposits;
    for (let round = 0; round < 6; round += 1) {
      await sql`update payout_attempt set state = 'SETTLED' where state = 'OPEN'`.execute(admin);
      // Gatherings of earlier rounds may still land.
      const before = await feesSeenBy(hot.address);
      const there = (fees: readonly OtherFee[]): boolean => isThere(fees, 6n, THERE + before);
      const made = await payment(one.address, 6n);
      await onlyHot(hot);
      const [swept, gathered] = await Promise.all([
        one.store.saveSigned(one.lease, [made], ({ otherFees }) => (there(otherFees) ? [] : [made.orderPk])),
        hot.store.saveGathering(hot.lease, gathering(6n), EPOCH, there),
      ]);
      expect(swept.kind === 'SAVED').toBe(!gathered);
    }
  });
});

test('does not store a gathering under a later halt, or without coin for its fee', async () => {
  const count = async (): Promise<number> => {
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from own_transaction where purpose = 'GATHER' and wallet = ${hot.address}`.execute(
      admin,
    );
    return rows[0]!.n;
  };
  expect(await hot.store.saveGathering(hot.lease, gathering(1n), EPOCH, () => false)).toBe(false);
  await sql`insert into wallet_halt (halt_id, chain, wallet, kind, reason, set_by)
    values (${newId()}, ${CHAIN}, ${hot.address}, 'OPERATOR', 'a test', 'operator')`.execute(admin);
  expect(await hot.store.saveGathering(hot.lease, gathering(1n), EPOCH, () => true)).toBe(false);
  expect(await count()).toBe(0);
  const seen: unknown[] = [];
  const made = await payment(deposits[0].address, 1n);
  const refuse = ({ haltedWallets }: { readonly haltedWallets: ReadonlySet<string> }) => {
    seen.push([...haltedWallets]);
    return [made.orderPk];
  };
  // Other wallets notice the halt in their commits, because this wallet may sponsor them.
  expect(await deposits[0].store.saveSigned(deposits[0].lease, [made], refuse)).toMatchObject({
    kind: 'GONE',
  });
  expect(seen).toEqual([[hot.address]]);
  await sql`update wallet_halt set released_at = now(), released_by = 'operator', released_reason = 'over'`.execute(
    admin,
  );
  expect(await hot.store.saveGathering(hot.lease, gathering(1n), EPOCH, () => true)).toBe(true);
  expect(await count()).toBe(1);
});

test('does not store a gathering under a later hold of its asset', async () => {
  const held = { ...gathering(1n), heldAs: 'USDC' };
  const store = () => hot.store.saveGathering(hot.lease, held, EPOCH, () => true);
  await sql`insert into asset_hold (hold_id, chain, symbol, reason, set_at)
    values (${newId()}, ${CHAIN}, 'USDC', 'a test', now())`.execute(admin);
  expect(await store()).toBe(false);
  await sql`update asset_hold set released_at = now()`.execute(admin);
  expect(await store()).toBe(true);
});
