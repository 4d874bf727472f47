import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import { evmFamily } from '@opentill/chain-evm/family';
import { readSignedTransaction } from '@opentill/chain-evm/sender/read-signed-transaction';
import type { Database } from '@opentill/db/database';
import { keepLease } from '@opentill/db/lease';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { aMerchant, anEvmAddress, type OrderRow } from '@opentill/testkit/scenario';
import { decideAuthorisations } from '../../src/policy/decide-authorisations.ts';
import type { PolicyJudge } from '../../src/policy/policy-port.ts';
import { createPayoutStore } from '../../src/nonce/store/create-store.ts';
import { createClockReader } from '../../src/wallet/watch-clocks.ts';
import { policyFor, type PolicyMaker } from './policy-for.ts';
import {
  CHAIN,
  createStaticChainWorld,
  ONE_USDT,
  USDT,
  type StaticChainWorld,
} from './static-chain-world.ts';

let world: StaticChainWorld;
let maker: PolicyMaker;
let api: Database;
let signer: Database;
beforeAll(async () => {
  world = await createStaticChainWorld();
  maker = policyFor(world);
  [api, signer] = [world.open('api'), world.open('signer')];
});
afterAll(async () => {
  await Promise.all([api.close(), signer.close()]);
  await world.close();
});

async function states(orderPks: readonly string[]): Promise<Readonly<Record<string, number>>> {
  const { rows } = await sql<{ what: string; n: number }>`
    select coalesce(reason, state) as what, count(*)::int as n from payout where order_pk = any(${orderPks}::uuid[])
    group by 1 order by 1`.execute(world.admin);
  return Object.fromEntries(rows.map(({ what, n }) => [what, n]));
}

describe("attacker with the api's database role", () => {
  const merchants: string[] = [];
  beforeAll(async () => {
    for (let i = 0; i < 11; i += 1) merchants.push((await aMerchant(world.admin)).merchantId);
  });

  /** Payouts are judged in the order of their random keys, so a merchant's turn comes at any time. */
  async function forge(
    count: number,
    amount: bigint,
    senders = merchants.slice(0, 8),
  ): Promise<readonly string[]> {
    const orderPks = Array.from({ length: count }, () => randomUUID());
    for (const [place, orderPk] of orderPks.entries())
      await sql`insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, contract_address, decimals,
          display_decimals, amount, accepted_amount, address, source_address, created_at, expires_at)
        values (${orderPk}, ${senders[place % senders.length]}, ${orderPk}, 'PAYOUT', ${CHAIN}, 'EVM', 'USDT', ${USDT}, 6, 2,
          ${amount.toString()}::numeric, ${amount.toString()}::numeric, ${anEvmAddress()}, ${world.wallet}, now(),
          now() + interval '1 hour')`.execute(api.kysely);
    await sql`select count(reserve(order_pk)) from unnest(${orderPks}::uuid[]) as o (order_pk)`.execute(
      api.kysely,
    );
    return orderPks;
  }

  async function drive(policy: PolicyJudge): Promise<void> {
    const driver = world.driver({ policy });
    for (let i = 0; i < 6; i += 1) await driver.pass();
    await world.settle();
  }

  async function signedAmount(): Promise<bigint> {
    const amounts = (await world.transactions()).map(({ raw }) =>
      BigInt(`0x${readSignedTransaction(raw).data.slice(-64)}`),
    );
    return amounts.reduce((sum, amount) => sum + amount, 0n);
  }

  test('lets out exactly the limits when forged rows request many small payouts', async () => {
    const policy = maker.policy({
      maxPerPayout: '5',
      approvalAbove: '4',
      maxPerHour: '60',
      maxPerDay: '90.5',
      maxPerMerchantPerDay: '20',
    });
    const first = await forge(40, 4n * ONE_USDT);
    await drive(policy);
    expect(await states(first)).toEqual({ SIGNED: 15, 'Limit per hour exceeded': 25 });
    expect(await signedAmount()).toBe(60n * ONE_USDT);
    const more = await forge(10, 1n);
    await drive(policy);
    expect(await states(more)).toEqual({ 'Limit per hour exceeded': 10 });
    await world.passTime('61 minutes');
    const later = await forge(40, 3n * ONE_USDT);
    await drive(policy);
    // These merchants have spent nothing, so only the limit per day can refuse.
    const rest = await forge(3, ONE_USDT / 4n, merchants.slice(8));
    await drive(policy);
    expect(await states(later)).toMatchObject({ SIGNED: 10 });
    expect(await states(rest)).toEqual({ SIGNED: 2, 'Limit per day exceeded': 1 });
    expect(await signedAmount()).toBe((90n * ONE_USDT * 2n + ONE_USDT) / 2n);
    const [byMerchant] = (
      await sql<{ most: bigint }>`
        select max(sum)::numeric as most from (select sum(o.amount) from orders o join payout p using (order_pk)
          where p.state = 'SIGNED' group by o.merchant_id) s (sum)`.execute(world.admin)
    ).rows;
    expect(BigInt(byMerchant!.most)).toBeLessThanOrEqual(20n * ONE_USDT);
  });

  test("reserves at most a day's limits for forged payouts that wait for approval", async () => {
    await world.passTime('2 days');
    const policy = maker.policy({ approvalAbove: '4', maxPerDay: '50', maxPerMerchantPerDay: '20' });
    const forged = await forge(32, 5n * ONE_USDT);
    const driver = world.driver({ policy });
    for (let i = 0; i < 4; i += 1) await driver.pass();
    expect(await states(forged)).toEqual({ REQUESTED: 10, 'Limit per day exceeded': 22 });
    await world.settle();
  });
});

test("neither signs nor refuses while the database's clock is a day ahead", async () => {
  await world.passTime('2 days');
  const policy = maker.policy({ maxPerHour: '5', maxPerDay: '5' });
  const signed = await world.payout();
  await world.driver({ policy }).pass();
  expect(await world.payoutOf(signed)).toEqual({ state: 'SIGNED', obstacle: null });
  // A day has passed for the database, and no time for the signer.
  await world.passTime('25 hours');
  const ownClock = { now: () => new Date(Date.now() - 25 * 3_600_000) };
  const readClocks = createClockReader(signer.kysely, { chain: CHAIN }, ownClock);
  const [order, refused] = [await world.payout(), await world.payout({ amount: 6n * ONE_USDT })];
  await world.driver({ policy, readClocks }).pass();
  for (const one of [order, refused])
    expect(await world.payoutOf(one)).toEqual({ state: 'REQUESTED', obstacle: 'CLOCKS_DIFFER' });
  await world
    .driver({ policy, readClocks: createClockReader(signer.kysely, { chain: CHAIN }, systemClock) })
    .pass();
  expect(await world.payoutOf(order)).toEqual({ state: 'SIGNED', obstacle: null });
  expect(await world.payoutOf(refused)).toMatchObject({ state: 'REFUSED' });
  await world.settle();
});

describe('two wallets of a chain', () => {
  const LIMIT = 100n * ONE_USDT;

  async function aWallet(name: string, policy: PolicyJudge) {
    const wallet = anEvmAddress() as Address;
    const orders: OrderRow[] = [];
    for (let i = 0; i < 10; i += 1)
      orders.push(await world.payout({ amount: 10n * ONE_USDT, source_address: wallet }));
    const key = { chain: CHAIN, wallet } as const;
    const store = createPayoutStore(signer.kysely, key, { newId, clock: systemClock });
    const lease = await keepLease({
      db: signer.kysely,
      schema: 'signer',
      name,
      holder: 'test',
      ttlMs: 600_000,
    }).acquire();
    const { approvers, approvalWaitMs } = policy;
    const view = await store.readView({
      requested: 200,
      unsigned: 200,
      everyWaiting: true,
      approvers,
      approvalWaitMs,
    });
    const rules = {
      network: world.network,
      codec: evmFamily.addressCodec,
      ownWallets: [wallet],
      isDepositAddress: () => false,
      policy,
    };
    return {
      orderPks: orders.map(({ order_pk: orderPk }) => orderPk),
      authorise: () =>
        store.authorise(lease!, 0, (spent) =>
          decideAuthorisations(view, spent, rules, { slots: 64, pausedBy: undefined }),
        ),
    };
  }

  test('authorises at most the limit for two wallets, also concurrently', async () => {
    await world.passTime('2 days');
    const policy = maker.policy({ maxPerDay: '100' });
    for (let round = 0; round < 5; round += 1) {
      const wallets = [
        await aWallet(`one-${round}`, policy),
        await aWallet(`two-${round}`, policy),
        await aWallet(`three-${round}`, policy),
      ];
      const authorised = (await Promise.all(wallets.map(({ authorise }) => authorise()))).flat();
      expect(BigInt(authorised.length) * 10n * ONE_USDT).toBe(LIMIT);
      await sql`update payout set state = 'REFUSED', reason = 'over'
        where order_pk = any(${wallets.flatMap(({ orderPks }) => orderPks)}::uuid[]) and state in ('REQUESTED', 'AUTHORISED')`.execute(
        world.admin,
      );
    }
  });

  test("lets only the signer's role lock the row of the policy windows", async () => {
    const lowered = maker.policy({ maxPerDay: '100' });
    await sql`delete from signer.policy_windows`.execute(world.admin);
    const wallet = await aWallet('locked', lowered);
    await api.kysely.transaction().execute(async (tx) => {
      await sql`select pg_advisory_xact_lock(hashtextextended('opentill policy windows ' || ${CHAIN}::text, 0))`.execute(
        tx,
      );
      await sql`set local idle_in_transaction_session_timeout = '60s'`.execute(tx);
      const undone = new Promise<never>((_, reject) =>
        setTimeout(() => reject(new Error('held up')), 60_000).unref(),
      );
      expect(await Promise.race([wallet.authorise(), undone])).toHaveLength(10);
    });
    for (const statement of [
      'select from signer.policy_windows for update',
      'select from signer.policy_windows for key share',
      'lock table signer.policy_windows in access share mode',
      `insert into signer.policy_windows values ('${CHAIN}')`,
      'delete from signer.policy_windows',
    ])
      await expect(
        api.kysely.transaction().execute((tx) => sql.raw(statement).execute(tx)),
      ).rejects.toMatchObject({ code: 'DATABASE_FORBIDDEN' });
    await expect(sql`delete from signer.policy_windows`.execute(signer.kysely)).rejects.toMatchObject({
      code: 'DATABASE_FORBIDDEN',
    });
    await signer.kysely.transaction().execute(async (tx) => {
      await sql`select from signer.policy_windows for no key update`.execute(tx);
      const { rows } = await sql`
        select chain from signer.policy_windows where chain = ${CHAIN} for no key update skip locked`.execute(
        signer.kysely,
      );
      expect(rows).toEqual([]);
    });
    await sql`update payout set state = 'REFUSED', reason = 'over'
      where order_pk = any(${wallet.orderPks}::uuid[]) and state in ('REQUESTED', 'AUTHORISED')`.execute(
      world.admin,
    );
  });

  test('signs only what the policy allows at the commit of the signature', async () => {
    const order = await world.payout();
    const policy = maker.policy();
    let asked = 0;
    // Asked at the authorisation, before nodes are requested, and in the commit of the bytes.
    const changing: PolicyJudge = {
      ...policy,
      judge: (question) => {
        asked += 1;
        return asked < 3 ? policy.judge(question) : { kind: 'REFUSED', reason: 'Limit per day exceeded' };
      },
    };
    const driver = world.driver({ policy: changing });
    await driver.pass();
    expect(asked).toBeGreaterThanOrEqual(3);
    expect((await world.transactions()).filter(({ order_pk: pk }) => pk === order.order_pk)).toEqual([]);
    await driver.pass();
    expect(await world.payoutOf(order)).toEqual({ state: 'AUTHORISED', obstacle: 'POLICY_REFUSES' });
    await world.driver({ policy }).pass();
    expect(await world.payoutOf(order)).toEqual({ state: 'SIGNED', obstacle: null });
  });
});
