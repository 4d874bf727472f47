import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { readSignedTransaction } from '@opentill/chain-evm/sender/read-signed-transaction';
import type { Address } from '@opentill/chain/address-codec';
import type { TxHash } from '@opentill/chain/transfer';
import type { FeeTerms } from '@opentill/chain/wallet-sender';
import { baseUnits } from '@opentill/domain/money';
import { anEvmAddress, type OrderRow } from '@opentill/testkit/scenario';
import type { PolicyJudge } from '../../src/policy/policy-port.ts';
import { policyFor, type PolicyMaker } from './policy-for.ts';
import { createStaticChainWorld, ONE_USDT, USDT, type StaticChainWorld } from './static-chain-world.ts';

// Write access to the database must not suffice for a signature: not for payouts that the policy did not authorise, nor
// for fee increases of transactions that the key did not sign.

let world: StaticChainWorld;
let maker: PolicyMaker;
beforeAll(async () => {
  world = await createStaticChainWorld();
  maker = policyFor(world);
});
afterAll(() => world.close());

const LIMITS = { maxPerPayout: '50', maxPerMerchantPerDay: '60', approvalAbove: '40' };
const policyOf = (more: Readonly<Record<string, unknown>> = {}): PolicyJudge => maker.policy(LIMITS, more);

const transactionsOf = async (order: OrderRow) =>
  (await world.transactions()).filter(({ order_pk: orderPk }) => orderPk === order.order_pk);

/** Possible for a service role with write access, or for the database's owner. */
const forgeAuthorisation = (order: OrderRow) =>
  sql`update payout set state = 'AUTHORISED', authorised_at = now() where order_pk = ${order.order_pk}`.execute(
    world.admin,
  );

async function authorisedAndWaiting(order: OrderRow, policy: PolicyJudge): Promise<void> {
  world.chain.gasMoney = 0n;
  await world.driver({ policy }).pass();
  world.chain.gasMoney = 10n ** 20n;
  expect(await world.payoutOf(order)).toEqual({ state: 'AUTHORISED', obstacle: 'NO_GAS' });
}

describe('policy check at signing', () => {
  beforeEach(() => world.settle());
  test('rejects payouts that only the database marks as authorised', async () => {
    const denied = anEvmAddress();
    const policy = policyOf({ deny: [{ family: 'EVM', address: denied }] });
    const spent = await world.payout({ amount: 30n * ONE_USDT });
    await world.driver({ policy }).pass();
    expect(await world.payoutOf(spent)).toEqual({ state: 'SIGNED', obstacle: null });

    const forged = [
      await world.payout({ amount: 51n * ONE_USDT }),
      await world.payout({ address: denied }),
      await world.payout({ amount: 41n * ONE_USDT }),
      // Each payout is within the limits; together they exceed the merchant's day.
      await world.payout({ amount: 31n * ONE_USDT, merchant_id: spent.merchant_id }),
    ];
    const proper = await world.payout();
    for (const order of [...forged, proper]) await forgeAuthorisation(order);
    const signedBefore = world.calls.get('sign') ?? 0;
    await world.driver({ policy }).pass();
    for (const order of forged) {
      expect(await world.payoutOf(order)).toEqual({ state: 'AUTHORISED', obstacle: 'POLICY_REFUSES' });
      expect(await transactionsOf(order)).toEqual([]);
    }
    expect(await world.payoutOf(proper)).toEqual({ state: 'SIGNED', obstacle: null });
    expect((world.calls.get('sign') ?? 0) - signedBefore).toBe(1);
  });

  test('rejects a receiver that was denied after the authorisation', async () => {
    const [denied, other] = [await world.payout(), await world.payout()];
    await authorisedAndWaiting(denied, policyOf());
    const policy = policyOf({ deny: [{ family: 'EVM', address: denied.address }] });
    await world.driver({ policy }).pass();
    expect(await world.payoutOf(denied)).toEqual({ state: 'AUTHORISED', obstacle: 'POLICY_REFUSES' });
    expect(await transactionsOf(denied)).toEqual([]);
    expect(await world.payoutOf(other)).toEqual({ state: 'SIGNED', obstacle: null });
    await world.driver({ policy: policyOf() }).pass();
    expect(await world.payoutOf(denied)).toEqual({ state: 'SIGNED', obstacle: null });
  });

  test('counts approvals added or removed since the authorisation', async () => {
    const [kept, lost] = [
      await world.payout({ amount: 45n * ONE_USDT }),
      await world.payout({ amount: 45n * ONE_USDT }),
    ];
    for (const order of [kept, lost]) await maker.approve(order);
    await authorisedAndWaiting(kept, policyOf());
    await sql`delete from payout_approval where order_pk = ${lost.order_pk}`.execute(world.admin);
    await world.driver({ policy: policyOf() }).pass();
    expect(await world.payoutOf(kept)).toEqual({ state: 'SIGNED', obstacle: null });
    expect(await world.payoutOf(lost)).toEqual({ state: 'AUTHORISED', obstacle: 'POLICY_REFUSES' });
    expect(await transactionsOf(lost)).toEqual([]);
  });

  test('counts a payout in the windows from its signature on', async () => {
    const order = await world.payout();
    await authorisedAndWaiting(order, policyOf());
    await sql`update payout set authorised_at = now() - interval '25 hours' where order_pk = ${order.order_pk}`.execute(
      world.admin,
    );
    const spent = async () =>
      (await world.store.spent()).find(({ merchantId }) => merchantId === order.merchant_id);
    const counted = { lastHour: order.amount, lastDay: order.amount };
    expect(await spent()).toMatchObject(counted);
    await world.driver({ policy: policyOf() }).pass();
    expect(await world.payoutOf(order)).toMatchObject({ state: 'SIGNED' });
    expect(await spent()).toMatchObject(counted);
  });
});

describe('fee increase', () => {
  const evil = anEvmAddress() as Address;
  const LATE = [60_000, 5] as const;

  async function waitingInPools(): Promise<{
    order: OrderRow;
    driver: ReturnType<StaticChainWorld['driver']>;
  }> {
    const order = await world.payout();
    const driver = world.driver();
    await driver.pass();
    expect(await transactionsOf(order)).toHaveLength(1);
    return { order, driver };
  }
  // Only the lowest nonce is replaced for a timeout.
  beforeEach(() => world.settle());
  const forge = (order: OrderRow, txHash: string, raw: Uint8Array, to: string = evil) =>
    sql`insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address,
        amount, raw, fee_terms, signed_at)
      select chain, ${txHash}, family, wallet, nonce, purpose, order_pk, contract_address, ${to}, amount, ${Buffer.from(raw)},
        fee_terms, clock_timestamp()
      from own_transaction where order_pk = ${order.order_pk} limit 1`.execute(world.admin);
  const intentTo = (to: Address) => {
    const amountBaseUnits = baseUnits(5n * ONE_USDT);
    return { from: world.wallet, contract: USDT, to, amountBaseUnits };
  };
  const terms: FeeTerms = {
    gasLimit: 60_000n,
    maxFeePerGas: 2_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
  };

  test("replaces a transaction that the wallet's key signed", async () => {
    const { order, driver } = await waitingInPools();
    await world.wait(...LATE);
    await driver.pass();
    const [first, second] = (await transactionsOf(order)).map(({ raw }) => readSignedTransaction(raw));
    expect(second).toMatchObject({ nonce: first?.nonce, to: first?.to, data: first?.data });
    expect(second?.maxFeePerGas).toBeGreaterThan(first?.maxFeePerGas ?? 0n);
    expect(world.forged).toEqual([]);
  });

  test.each<readonly [string, (order: OrderRow) => Promise<unknown>]>([
    [
      'receiver column that differs from the bytes',
      ({ order_pk: orderPk }) =>
        sql`update own_transaction set to_address = ${evil} where order_pk = ${orderPk}`.execute(world.admin),
    ],
    [
      'amount column that differs from the bytes',
      ({ order_pk: orderPk }) =>
        sql`update own_transaction set amount = amount * 10 where order_pk = ${orderPk}`.execute(world.admin),
    ],
  ])('raises an alarm instead of a fee increase for a %s', async (_what, tamper) => {
    const { order, driver } = await waitingInPools();
    await tamper(order);
    await driver.pass();
    const before = (await transactionsOf(order)).length;
    const signed = world.calls.get('sign') ?? 0;
    await world.wait(...LATE);
    await driver.pass();
    expect(await transactionsOf(order)).toHaveLength(before);
    expect(world.calls.get('sign') ?? 0).toBe(signed);
    expect(new Set(world.forged).size).toBe(1);
  });

  test.each<readonly [string, (order: OrderRow) => Promise<unknown>]>([
    ['with invalid bytes', (order) => forge(order, `0x${'e'.repeat(64)}`, Buffer.from('02c0', 'hex'))],
    [
      'with a foreign signature',
      async (order) => {
        const { raw } = await world.sender.sign(intentTo(evil), await nonceOf(order), terms);
        const foreign = Buffer.from(raw);
        // Another signature of the same form recovers to another signer.
        foreign[foreign.length - 1] = foreign[foreign.length - 1]! ^ 1;
        await forge(order, readSignedTransaction(foreign).txHash, foreign);
      },
    ],
    [
      'with another nonce',
      async (order) => {
        const { txHash, raw } = await world.sender.sign(intentTo(evil), (await nonceOf(order)) + 7, terms);
        await forge(order, txHash, raw);
      },
    ],
    [
      'with a hash that differs from its bytes',
      async (order) => {
        const [{ raw } = { raw: Buffer.alloc(0) }] = await transactionsOf(order);
        await forge(order, `0x${'d'.repeat(64)}` as TxHash, raw, order.address);
      },
    ],
  ])('replaces and rebroadcasts the genuine transaction despite a newer row %s', async (_what, tamper) => {
    const { order, driver } = await waitingInPools();
    const ours = (await transactionsOf(order))[0]!;
    await tamper(order);
    await sql`update own_transaction set signed_at = now() + interval '10 years', send_outcome = 'ACCEPTED'
        where order_pk = ${order.order_pk} and tx_hash <> ${ours.tx_hash}`.execute(world.admin);
    const known = (await transactionsOf(order)).map(({ tx_hash: txHash }) => txHash);
    for (let round = 0; round < 2; round += 1) {
      await world.wait(...LATE);
      await driver.pass();
    }
    const added = (await transactionsOf(order)).filter(({ tx_hash: txHash }) => !known.includes(txHash));
    expect(added.length).toBeGreaterThanOrEqual(1);
    const [first, ...dearer] = [ours, ...added].map(({ raw }) => readSignedTransaction(raw));
    for (const one of dearer) {
      expect(one).toMatchObject({
        nonce: first?.nonce,
        to: first?.to,
        data: first?.data,
        from: world.wallet,
      });
      expect(one.maxFeePerGas).toBeGreaterThan(first?.maxFeePerGas ?? 0n);
    }
    expect(new Set(world.forged).size).toBe(1);
    // The newest genuine transaction is sent, not the forged row.
    world.broadcasts.length = 0;
    await world.wait(5_000, 0);
    await driver.pass();
    expect(world.broadcasts.flat()).toContain(added.at(-1)?.tx_hash);
    expect(world.broadcasts.flat().filter((txHash) => known.slice(1).includes(txHash))).toEqual([]);
  });

  const land = (txHash: string) =>
    sql`insert into own_transaction_fate (chain, tx_hash, family, block_height, block_hash, block_time, state, succeeded,
        delivered, network_fee)
      select chain, tx_hash, family, 100, '0x', now(), 'VERIFIED', true, 0, 1 from own_transaction
      where tx_hash = ${txHash}`.execute(world.admin);
  const nonceStateOf = async (order: OrderRow) => {
    const { rows } = await sql<{ state: string }>`
      select state from wallet_nonce where order_pk = ${order.order_pk}`.execute(world.admin);
    return rows.map(({ state }) => state);
  };

  test('marks the nonce used when the replacement or its predecessor lands', async () => {
    for (const landing of [0, 1]) {
      const { order, driver } = await waitingInPools();
      await world.wait(...LATE);
      await driver.pass();
      const both = await transactionsOf(order);
      expect(both).toHaveLength(2);
      await land(both[landing]!.tx_hash);
      await driver.pass();
      expect(await nonceStateOf(order)).toEqual(['FINAL']);
    }
  });

  test('does not mark the nonce used for a forged row that names a landed transaction', async () => {
    const { order, driver } = await waitingInPools();
    const ours = (await transactionsOf(order))[0]!;
    const { txHash, raw } = await world.sender.sign(intentTo(evil), (await nonceOf(order)) + 7, terms);
    await forge(order, txHash, raw);
    await land(txHash);
    for (const running of [driver, world.driver()]) {
      world.broadcasts.length = 0;
      world.forged.length = 0;
      await world.wait(5_000, 0);
      await running.pass();
      expect(await nonceStateOf(order)).toEqual(['SIGNED']);
      expect(world.broadcasts.flat()).toEqual([ours.tx_hash]);
      expect(new Set(world.forged).size).toBe(1);
    }
    await world.wait(...LATE);
    await driver.pass();
    expect((await transactionsOf(order)).map(({ tx_hash: hash }) => hash)).toHaveLength(3);
    await land(ours.tx_hash);
    await driver.pass();
    expect(await nonceStateOf(order)).toEqual(['FINAL']);
  });

  async function nonceOf(order: OrderRow): Promise<number> {
    return (await transactionsOf(order))[0]!.nonce;
  }
});

describe('source that keeps reporting a higher pending nonce', () => {
  beforeEach(() => world.settle());
  test('delays payouts while a source overstates the pending nonce, without a halt', async () => {
    const { chain } = world;
    const count = 1 + Math.max(-1, ...(await world.transactions()).map(({ nonce }) => nonce));
    const nextOnes = async () => (await world.transactions()).filter(({ nonce }) => nonce >= count);
    chain.pool = { highest: count + 3, agreed: count, answers: 2 };
    const order = await world.payout();
    let driver = world.driver();
    const waits = async () => {
      await driver.pass();
      expect(await world.payoutOf(order)).toEqual({ state: 'REQUESTED', obstacle: 'CHAIN_AHEAD' });
    };
    for (let minute = 0; minute < 10; minute += 1) {
      await waits();
      await world.wait(60_000, 1);
      expect(await nextOnes()).toEqual([]);
    }
    // Transactions of that pool land at one of these nonces or never. No payout uses them.
    for (let round = 0; round < 2; round += 1) {
      await waits();
      await world.wait(600_000, 1);
    }
    await waits();
    const fillers = await nextOnes();
    expect(fillers.map(({ nonce, order_pk: orderPk }) => ({ nonce, orderPk }))).toEqual(
      [0, 1, 2].map((place) => ({ nonce: count + place, orderPk: null })),
    );
    // A new leader does not know the reported count, but keeps the nonces free too.
    delete chain.pool;
    driver = world.driver();
    await waits();
    await waits();
    expect(await nextOnes()).toHaveLength(3);
    await sql`
      insert into own_transaction_fate (chain, tx_hash, family, block_height, block_hash, block_time, state, succeeded,
        delivered, network_fee)
      select chain, tx_hash, family, 100, '0x', now(), 'VERIFIED', true, 0, 1 from own_transaction
      where nonce >= ${count}`.execute(world.admin);
    await driver.pass();
    expect(await world.payoutOf(order)).toEqual({ state: 'SIGNED', obstacle: null });
    expect((await nextOnes()).at(-1)).toMatchObject({ nonce: count + 3, order_pk: order.order_pk });
    const { rows } = await sql`select from wallet_halt where kind = 'RESTORED'`.execute(world.admin);
    expect(rows).toEqual([]);
  });
});
