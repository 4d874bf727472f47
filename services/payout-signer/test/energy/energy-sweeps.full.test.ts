import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { signHash } from '@opentill/devnets/tron/chain/signature';
import type { OrderRow } from '@opentill/testkit/scenario';
import { post } from '../expiring/tron-world.ts';
import { createTronSweepWorld, CHAIN, ONE_TRX, type TronSweepWorld } from './tron-sweep-world.ts';

const USDT = 1_000_000n;
/** A sweep uses the energy of about 8,600 TRX of it. */
const STAKE = 100_000n * ONE_TRX;

let world: TronSweepWorld;
let cold = 0n;
beforeAll(async () => {
  world = await createTronSweepWorld();
});
afterAll(async () => {
  await world.close();
});
beforeEach(async () => {
  world.shop.clearFaults();
  cold = await world.tokensAt(world.cold);
  await sql`update sweep set ended_at = now() - interval '2 hours' where state <> 'OPEN'`.execute(
    world.admin,
  );
});

const hasEnded = async (order: OrderRow, state: string) =>
  (await world.sweepsOf(order)).some((sweep) => sweep.state === state);
const isDone = (order: OrderRow) => hasEnded(order, 'DONE');
const swept = async () => (await world.tokensAt(world.cold)) - cold;
const kinds = async (order: OrderRow) => (await world.movesOf(order)).map(({ kind }) => kind);
const inBooks = async () => {
  const { rows } = await sql<{ sum: bigint }>`
    select coalesce(sum(balance), 0) as sum from ledger_account where chain = ${CHAIN}`.execute(world.admin);
  return rows[0]?.sum;
};

describe('energy seller', () => {
  const rent = { rent: true };

  test('rents energy from the cheapest source and activates a new address first', async () => {
    const [fresh, active] = [await world.paid(40n * USDT), await world.paid(41n * USDT, 1n)];
    const balance = world.shop.balanceSun();
    const signer = await world.start({ sweep: rent });
    await world.mineUntil('both are swept', async () => (await isDone(fresh)) && isDone(active));
    await signer.stop();
    expect(await swept()).toBe(81n * USDT);
    expect(await kinds(fresh)).toEqual(['GAS_TOP_UP', 'SWEEP']);
    expect(await kinds(active)).toEqual(['SWEEP']);
    expect(await world.sunAt(fresh.address)).toBe(1n);
    expect(await world.sunAt(active.address)).toBe(1n);
    const sweeps = [...(await world.sweepsOf(fresh)), ...(await world.sweepsOf(active))];
    expect(sweeps.map(({ method }) => method)).toEqual(['RENT', 'RENT']);
    const paid = sweeps.reduce((sum, { rent_cost }) => sum + Number(rent_cost), 0);
    expect(balance - world.shop.balanceSun()).toBe(paid);
    expect(await inBooks()).toBe(0n);
  });

  test('pays a seller once that never delivers, then pays for the work in coin', async () => {
    const order = await world.paid(42n * USDT, 1n);
    const orders = world.shop.orders().length;
    world.shop.fault({ kind: 'never-delivers' });
    const signer = await world.start({ sweep: rent, energyWaitMs: 1_500 });
    await world.mineUntil('it is swept', () => isDone(order));
    await signer.stop();
    expect(await swept()).toBe(42n * USDT);
    expect(world.shop.orders()).toHaveLength(orders + 1);
    expect(await world.sweepsOf(order)).toMatchObject([
      { state: 'ABANDONED', method: 'RENT', reason: 'energy was not there' },
      { state: 'DONE', method: 'TOP_UP' },
    ]);
  });

  test('pays a seller once that delivers too little, and uses the delivered energy', async () => {
    const order = await world.paid(43n * USDT, 1n);
    const orders = world.shop.orders().length;
    world.shop.fault({ kind: 'too-little', percent: 50 });
    const signer = await world.start({ sweep: rent, energyWaitMs: 1_500 });
    await world.mineUntil('it is swept', () => isDone(order));
    await signer.stop();
    expect(world.shop.orders()).toHaveLength(orders + 1);
    const { rows } = await sql<{ amount: bigint }>`
      select o.amount from sweep s join movement m using (sweep_id) join orders o using (order_pk)
      where s.address = ${order.address} and m.kind = 'GAS_TOP_UP'`.execute(world.admin);
    expect(rows).toHaveLength(1);
    expect(rows[0]!.amount).toBeLessThan(6n * ONE_TRX);
    expect(await swept()).toBe(43n * USDT);
  });

  test.each([['late'], ['charges-and-fails'], ['hangs']] as const)(
    'waits for a seller with the fault %s and pays it once',
    async (kind) => {
      const order = await world.paid(44n * USDT, 1n);
      const [orders, balance] = [world.shop.orders().length, world.shop.balanceSun()];
      world.shop.fault(kind === 'late' ? { kind, delayMs: 1_500 } : { kind });
      const signer = await world.start({ sweep: rent });
      await world.mineUntil('it is swept', () => isDone(order));
      await signer.stop();
      expect(await swept()).toBe(44n * USDT);
      expect(world.shop.orders()).toHaveLength(orders + 1);
      expect(await world.sweepsOf(order)).toMatchObject([
        { state: 'DONE', method: 'RENT', rent_cost: BigInt(balance - world.shop.balanceSun()) },
      ]);
    },
  );

  test('pays for the work in coin at once when the seller refuses', async () => {
    const order = await world.paid(45n * USDT, 1n);
    const balance = world.shop.balanceSun();
    world.shop.fault({ kind: 'refuses' });
    const signer = await world.start({ sweep: rent });
    await world.mineUntil('it is swept', () => isDone(order));
    await signer.stop();
    expect(world.shop.balanceSun()).toBe(balance);
    expect(await world.sweepsOf(order)).toMatchObject([
      { state: 'ABANDONED', method: 'RENT', rent_cost: 0n },
      { state: 'DONE', method: 'TOP_UP' },
    ]);
  });

  test("keeps the policy's limits of rent per order and per day", async () => {
    await sql`update sweep set planned_at = planned_at - interval '2 days', rent_ordered_at = rent_ordered_at - interval '2 days',
      ended_at = ended_at - interval '2 days'`.execute(world.admin);
    const orders = world.shop.orders().length;
    const dear = await world.paid(46n * USDT, 1n);
    const strict = await world.start({ sweep: { ...rent, maxRentPerOrder: '2' } });
    await world.mineUntil('it is swept', () => isDone(dear));
    await strict.stop();
    expect(await world.sweepsOf(dear)).toMatchObject([{ state: 'DONE', method: 'TOP_UP' }]);
    expect(world.shop.orders()).toHaveLength(orders);
    const three = [
      await world.paid(47n * USDT, 1n),
      await world.paid(48n * USDT, 1n),
      await world.paid(49n * USDT, 1n),
    ];
    const signer = await world.start({ sweep: { ...rent, maxRentPerDay: '8' } });
    await world.mineUntil(
      'all are swept',
      async () => (await isDone(three[0]!)) && (await isDone(three[1]!)) && isDone(three[2]!),
      60_000,
    );
    await signer.stop();
    const methods = (await Promise.all(three.map((order) => world.sweepsOf(order))))
      .flat()
      .map(({ method }) => method);
    expect(methods.filter((method) => method === 'RENT').length).toBe(world.shop.orders().length - orders);
    const bought = world.shop
      .orders()
      .slice(orders)
      .reduce((sum, { payoutAmount }) => sum + payoutAmount, 0);
    expect(bought).toBeGreaterThan(0);
    expect(bought).toBeLessThanOrEqual(8_000_000);
    expect(methods).toContain('TOP_UP');
  });
});

async function isDelegatedTo(order: OrderRow): Promise<boolean> {
  return (await world.movesOf(order)).some(({ kind, money }) => kind === 'DELEGATE' && money === 'PAID_OUT');
}

describe('own stake', () => {
  const stake = { stake: true };
  beforeAll(async () => {
    await world.stake(STAKE);
  });

  test('delegates own stake to one sweep after the other and reclaims it', async () => {
    const [fresh, active] = [await world.paid(50n * USDT), await world.paid(51n * USDT, 1n)];
    const signer = await world.start({ sweep: { ...stake, rent: true } });
    await world.mineUntil('both are swept', async () => (await isDone(fresh)) && isDone(active));
    await signer.stop();
    expect(await swept()).toBe(101n * USDT);
    expect(await kinds(fresh)).toEqual(['GAS_TOP_UP', 'DELEGATE', 'SWEEP', 'UNDELEGATE']);
    expect(await kinds(active)).toEqual(['DELEGATE', 'SWEEP', 'UNDELEGATE']);
    expect((await world.movesOf(active)).map(({ money }) => money)).toEqual([
      'PAID_OUT',
      'PAID_OUT',
      'PAID_OUT',
    ]);
    expect(await world.lentOut()).toBe(0n);
    expect(await world.sunAt(active.address)).toBe(1n);
    expect(await inBooks()).toBe(0n);
  });

  test('reclaims stake from an address whose token cannot move, and sweeps it later', async () => {
    const order = await world.paid(52n * USDT, 1n);
    let isLent = false;
    let isBroken = true;
    const signer = await world.start({
      sweep: stake,
      energyWaitMs: 1_500,
      sender: (sender) => ({
        ...sender,
        async prepare(intents, options) {
          const answers = await sender.prepare(intents, options);
          isLent ||= (await kinds(order)).includes('DELEGATE');
          return intents.map((intent, place) =>
            isLent && isBroken && intent.from === order.address
              ? { kind: 'OBSTACLE' as const, obstacle: 'WOULD_FAIL' as const, detail: 'paused' }
              : answers[place]!,
          );
        },
      }),
    });
    await world.mineUntil('it is abandoned', () => hasEnded(order, 'ABANDONED'));
    expect(await kinds(order)).toEqual(['DELEGATE', 'UNDELEGATE']);
    expect(await world.lentOut()).toBe(0n);
    isBroken = false;
    await world.mineUntil('it is swept', () => isDone(order));
    await signer.stop();
    expect(await swept()).toBe(52n * USDT);
    expect(await world.lentOut()).toBe(0n);
  });

  test('halts when the operator stakes outside, and uses the stake after release', async () => {
    const { tron, admin } = world;
    const { url } = tron.devnet;
    const signer = await world.start({ sweep: stake });
    await tron.devnet.control.fund(tron.wallet, { trxSun: STAKE });
    const before = await staked();
    const txHash = await stakeOutside(STAKE);
    const isHalted = async () => {
      const { rows } =
        await sql`select from wallet_halt where wallet = ${tron.wallet} and kind = 'FOREIGN_NONCE'
        and released_at is null and reason like ${`%${txHash}%`}`.execute(admin);
      return rows.length === 1;
    };
    await world.mineUntil('the wallet is halted', isHalted);
    expect(await staked()).toBe(before + STAKE);
    const order = await world.paid(53n * USDT, 1n);
    const waiting = async () => {
      const { rows } = await sql<{ waiting: Record<string, number> }>`
        select plan->'waiting' as waiting from sweep_plan where chain = ${CHAIN}`.execute(admin);
      return rows[0]?.waiting ?? {};
    };
    // No step that needs the wallet starts while none of its transactions is signed.
    await world.mineUntil('its sweep waits', async () => ((await waiting())['WALLET_HALTED'] ?? 0) > 0);
    expect(await world.sweepsOf(order)).toEqual([]);
    await sql`update wallet_halt set released_at = now(), released_by = 'test', released_reason = 'I staked'
      where released_at is null`.execute(admin);
    await world.mineUntil('it is swept', () => isDone(order));
    await signer.stop();
    expect(await kinds(order)).toEqual(['DELEGATE', 'SWEEP', 'UNDELEGATE']);
    expect(await swept()).toBe(53n * USDT);
    expect(await world.lentOut()).toBe(0n);
    expect(await isHalted()).toBe(false);

    async function staked(): Promise<bigint> {
      const account = await post<{ frozenV2?: { type?: string; amount?: number }[] }>(url, 'getaccount', {
        address: tron.wallet,
        visible: true,
      });
      return BigInt(account.frozenV2?.find(({ type }) => type === 'ENERGY')?.amount ?? 0);
    }
  });

  async function stakeOutside(sun: bigint): Promise<string> {
    const { devnet, wallet, walletKey } = world.tron;
    const built = await post<{ txID: string }>(devnet.url, 'freezebalancev2', {
      owner_address: wallet,
      frozen_balance: Number(sun),
      resource: 'ENERGY',
      visible: true,
    });
    const signature = signHash(Buffer.from(built.txID, 'hex'), Buffer.from(walletKey, 'hex'));
    const answer = await post<{ result?: boolean }>(devnet.url, 'broadcasttransaction', {
      ...built,
      signature: [Buffer.from(signature).toString('hex')],
    });
    expect(answer).toMatchObject({ result: true });
    return built.txID;
  }

  test('frees the slot of an unsigned delegation on a halt, and delegates later', async () => {
    const { admin, tron } = world;
    const order = await world.paid(57n * USDT, 1n);
    let isShut = true;
    const signer = await world.start({
      sweep: { ...stake, batchSize: 1 },
      sender: (sender) => ({
        ...sender,
        async prepare(intents, options) {
          const answers = await sender.prepare(intents, options);
          return intents.map(({ resource }, place) =>
            isShut && resource === 'LEND_ENERGY'
              ? { kind: 'OBSTACLE' as const, obstacle: 'WOULD_FAIL' as const, detail: 'not yet' }
              : answers[place]!,
          );
        },
      }),
    });
    await world.mineUntil('lending has begun', async () => (await kinds(order)).includes('DELEGATE'));
    await sql`insert into wallet_halt (halt_id, chain, wallet, kind, reason, set_by)
      values (gen_random_uuid(), ${CHAIN}, ${tron.wallet}, 'OPERATOR', 'look first', 'test')`.execute(admin);
    isShut = false;
    const rich = await world.paid(58n * USDT, 60n * ONE_TRX);
    await world.mineUntil('another is swept in its place', () => isDone(rich));
    expect(await kinds(rich)).toEqual(['SWEEP']);
    expect((await world.movesOf(order)).map(({ kind, money }) => `${kind} ${money}`)).toEqual([
      'DELEGATE RESERVED',
    ]);
    expect(await world.lentOut()).toBe(0n);
    await sql`update wallet_halt set released_at = now(), released_by = 'test', released_reason = 'looked'
      where released_at is null`.execute(admin);
    await world.mineUntil('it is swept', () => isDone(order));
    await signer.stop();
    expect(await kinds(order)).toEqual(['DELEGATE', 'SWEEP', 'UNDELEGATE']);
    expect(await swept()).toBe(115n * USDT);
    expect(await world.lentOut()).toBe(0n);
  });

  test('never delegates stake to a foreign address in forged rows', async () => {
    const order = await world.paid(53n * USDT, 1n);
    const stranger = world.tron.devnet.accounts[4]!.address;
    const sweepId = crypto.randomUUID();
    await sql`update deposit_address set address = ${stranger} where order_pk = ${order.order_pk}`.execute(
      world.admin,
    );
    await sql`insert into sweep (sweep_id, chain, family, address, symbol, contract_address, amount, destination, destination_kind, method,
        cost_estimate) values (${sweepId}, ${CHAIN}, 'TRON', ${stranger}, 'USDT', ${order.contract_address}, ${53n * USDT}, ${world.cold},
        'COLD', 'STAKE', 1)`.execute(world.admin);
    await sql`select plan_movement(${JSON.stringify({
      orderPk: crypto.randomUUID(),
      kind: 'DELEGATE',
      sweepId,
      chain: CHAIN,
      symbol: 'TRX',
      contract: null,
      decimals: 6,
      displayDecimals: 6,
      amount: (5_000n * ONE_TRX).toString(),
      wallet: world.tron.wallet,
      receiver: stranger,
      seconds: 3_600,
    })}::jsonb)`.execute(world.admin);
    const signer = await world.start({ sweep: stake });
    await world.mineUntil('it is refused', async () => {
      const { rows } =
        await sql`select from movement m join payout p using (order_pk) where m.sweep_id = ${sweepId} and p.state = 'REFUSED'`.execute(
          world.admin,
        );
      return rows.length > 0;
    });
    await signer.stop();
    expect(await world.lentOut()).toBe(0n);
    await sql`update sweep set state = 'ABANDONED', ended_at = now() where sweep_id = ${sweepId}`.execute(
      world.admin,
    );
    await sql`update deposit_address set address = ${order.address} where order_pk = ${order.order_pk}`.execute(
      world.admin,
    );
  });

  test('delegates stake only while the policy allows it, and reclaims it after that', async () => {
    const lent = await world.paid(54n * USDT, 1n);
    const first = await world.start({ sweep: stake });
    await world.mineUntil('stake is delegated to it', () => isDelegatedTo(lent));
    await first.stop();
    const other = await world.paid(55n * USDT, 1n);
    const signer = await world.start();
    await world.mineUntil('both are swept', async () => (await isDone(lent)) && isDone(other));
    await signer.stop();
    expect(await world.lentOut()).toBe(0n);
    expect(await world.sweepsOf(other)).toMatchObject([{ state: 'DONE', method: 'TOP_UP' }]);
  });

  test('reclaims stake and ends requested sweeps when the policy ends sweeps', async () => {
    const order = await world.paid(56n * USDT, 1n);
    const first = await world.start({ sweep: stake });
    await world.mineUntil('stake is delegated to it', () => isDelegatedTo(order));
    await first.stop();
    await sql`insert into sweep_request (chain, operator) values (${CHAIN}, 'test')`.execute(world.admin);
    const signer = await world.start({ sweep: null });
    const open = async () =>
      (
        await sql`select from sweep where state = 'OPEN'
          union all select from sweep_request where handled_at is null`.execute(world.admin)
      ).rows.length;
    await world.mineUntil('nothing is open', async () => (await open()) === 0);
    await signer.stop();
    expect(await world.lentOut()).toBe(0n);
    expect([0n, 56n * USDT]).toContain(await swept());
    expect((await kinds(order)).at(-1)).toBe('UNDELEGATE');
  });
});
