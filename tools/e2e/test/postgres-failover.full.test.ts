import { afterEach, expect, test, vi } from 'vitest';
import { sql } from 'kysely';
import { waitUntil } from '@opentill/testkit/wait-until';
import { readChainTruth } from '../src/chaos/read-chain-truth.ts';
import {
  isReportedPaid,
  keepPaying,
  OTHER_ACCOUNT,
  pay,
  type ConfirmedOrder,
  type Traffic,
} from '../src/failover/keep-paying.ts';
import {
  FAILOVER_SERVICES,
  startFailoverGateway,
  type FailoverGateway,
} from '../src/failover/start-failover-gateway.ts';
import { runOpentill } from '../src/run-opentill.ts';

/*
 * Collections, payouts and sweeps while the database fails over to its synchronous standby. The test is the cluster
 * manager: it promotes the standby at once.
 */

/** Two gateways one after the other, each with dozens of payments, on a machine that may be busy. */
vi.setConfig({ testTimeout: 3_600_000, hookTimeout: 900_000 });

const SWEPT_PER_CHAIN = 3;
/** Paid while no primary exists. */
const UNPAID_PER_CHAIN = 2;
/** Collections and payouts that are paid from begin to end after a step. */
const AFTERWARDS = { collections: 4, payouts: 2 };
/** Crediting depth of the local profile. */
const CONFIRMATIONS = 3;

let world: FailoverGateway | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

interface Fault {
  readonly name: string;
  begin(world: FailoverGateway): Promise<void>;
  /** The old primary runs again, or still, while the services cannot reach it. */
  readonly prepareReturn: (world: FailoverGateway) => Promise<void>;
}

const KILLED: Fault = {
  name: 'primary killed, restarted later',
  async begin({ pair, toPrimary }) {
    await pair.primary.stop('kill');
    toPrimary.mode = 'refuse';
  },
  prepareReturn: ({ pair }) => pair.restartPrimary(),
};
const CUT_OFF: Fault = {
  name: 'primary cut off, reachable later',
  begin({ toPrimary, replication }) {
    toPrimary.mode = 'blackhole';
    replication.mode = 'blackhole';
    return Promise.resolve();
  },
  /** What the services had sent ends: by time limits, or waiting for the standby. */
  prepareReturn: ({ query }) =>
    waitUntil('no statement runs on the old primary', async () => {
      const running = await query(
        'primary',
        String.raw`select from pg_stat_activity where usename like 'opentill\_%' and state <> 'idle'
          and wait_event is distinct from 'SyncRep'`,
      );
      return running.length === 0;
    }),
};

const count = async ({ query }: FailoverGateway, from: string): Promise<number> =>
  (await query<{ n: number }>('standby', `select count(*)::int as n from ${from}`))[0]?.n ?? 0;
const creditedOrders = `orders where order_type = 'COLLECTION' and status = 'SUCCESS'`;
const paidPayouts = `orders where order_type = 'PAYOUT' and status = 'SUCCESS' and order_pk not in (select order_pk from movement)`;

async function sweep({ under }: FailoverGateway): Promise<void> {
  for (const { chain } of Object.values(under.chains))
    await waitUntil(`a sweep of ${chain} is requested`, async () => {
      const args = ['sweep', 'run', '--chain', chain, '--reason', 'the test'];
      const { code, errors } = await runOpentill(under.gateway, args);
      if (code !== 0) throw new Error(errors);
      return true;
    });
}

/** Orders that are created from now on are paid from begin to end. */
async function paidFromBeginToEnd({ under }: FailoverGateway, traffic: Traffic): Promise<void> {
  const [collections, payouts] = [traffic.collections.length, traffic.payouts.length];
  const paid = (orders: readonly ConfirmedOrder[]) =>
    orders.filter((one) => isReportedPaid(under, one)).length;
  await waitUntil(
    'new orders are paid',
    () =>
      paid(traffic.collections.slice(collections)) >= AFTERWARDS.collections &&
      paid(traffic.payouts.slice(payouts)) >= AFTERWARDS.payouts,
  );
}

/** Uses the next transaction id of the old primary, and returns it. Does not wait for the lost standby. */
async function nextTransactionId({ query }: FailoverGateway): Promise<number> {
  const next = `select pg_current_xact_id()::text as id, set_config('synchronous_commit', 'local', true)`;
  return Number((await query<{ id: string }>('primary', next))[0]?.id);
}

/** Ledger transactions that other sessions see on the old primary, and that the new one does not have. */
async function findLostBookings({ query }: FailoverGateway): Promise<string[]> {
  const refs = 'select ref from ledger_transaction';
  const kept = new Set((await query<{ ref: string }>('standby', refs)).map(({ ref }) => ref));
  return (await query<{ ref: string }>('primary', refs)).flatMap(({ ref }) => (kept.has(ref) ? [] : [ref]));
}

/** Resolves when collections, payouts and sweeps are in flight, with collections still unpaid. */
async function untilAllInFlight(gateway: FailoverGateway, traffic: Traffic): Promise<ConfirmedOrder[]> {
  const collect = async (times: number): Promise<ConfirmedOrder[]> => {
    const orders: ConfirmedOrder[] = [];
    for (const chain of Object.values(gateway.under.chains))
      for (let index = 0; index < times; index += 1) orders.push(await traffic.collect(chain));
    return orders;
  };
  const unpaid = await collect(UNPAID_PER_CHAIN);
  const first = await collect(SWEPT_PER_CHAIN);
  for (const order of first) await pay(order, OTHER_ACCOUNT);
  await waitUntil('the first are credited', () => first.every((one) => isReportedPaid(gateway.under, one)));
  await waitUntil('all kinds of payments are in flight', async () => {
    await sweep(gateway); // the last ones may have ended
    const { rows } = await sql<{ sweeps: number; payouts: number; collections: number }>`
      select (select count(*)::int from sweep where state = 'OPEN') as sweeps,
        (select count(*)::int from payout where money = 'IN_FLIGHT'
          and order_pk not in (select order_pk from movement)) as payouts,
        (select count(*)::int from orders where order_type = 'COLLECTION' and status = 'PENDING_CONFIRMATION') as collections`.execute(
      gateway.under.database.kysely,
    );
    return rows.every((row) => row.sweeps > 0 && row.payouts > 0 && row.collections > 0);
  });
  return unpaid;
}

interface Times {
  readonly promotionMs: number;
  readonly creditedMs: number;
  readonly paidOutMs: number;
}

async function failOver(
  gateway: FailoverGateway,
  fault: Fault,
  unpaid: readonly ConfirmedOrder[],
): Promise<Times> {
  await fault.begin(gateway);
  for (const order of unpaid) await pay(order, OTHER_ACCOUNT);
  const beganAt = performance.now();
  await gateway.query('standby', 'select pg_promote(true, 600)');
  const promotedAt = performance.now();
  const before = { credited: await count(gateway, creditedOrders), paid: await count(gateway, paidPayouts) };
  const since = async (from: string, than: number): Promise<number> => {
    await waitUntil(`more of ${from}`, async () => (await count(gateway, from)) > than);
    return performance.now() - promotedAt;
  };
  const [creditedMs, paidOutMs] = await Promise.all([
    since(creditedOrders, before.credited),
    since(paidPayouts, before.paid),
  ]);
  return { promotionMs: promotedAt - beganAt, creditedMs, paidOutMs };
}

/** Returns the old primary's next transaction id from before it was reachable again. */
async function letOldPrimaryReturn(gateway: FailoverGateway, fault: Fault): Promise<number> {
  await fault.prepareReturn(gateway);
  if (fault === CUT_OFF) expect(await findLostBookings(gateway)).toEqual([]);
  const next = await nextTransactionId(gateway);
  gateway.toPrimary.reset();
  gateway.toPrimary.mode = 'pass';
  const isSeen = () => gateway.sawOldPrimary().length === FAILOVER_SERVICES.length;
  await waitUntil('each service saw the old primary', isSeen).catch(() => undefined);
  expect(gateway.sawOldPrimary()).toEqual(FAILOVER_SERVICES);
  return next + 1;
}

/** One line per collection or payout that was not paid exactly once, according to chain and merchant. */
async function findPaymentProblems({ under }: FailoverGateway, traffic: Traffic): Promise<string[]> {
  const problems: string[] = [];
  const hotWallet = under.gateway.wallet.evmHotWallet.toLowerCase();
  for (const chain of Object.values(under.chains)) {
    const of = (orders: readonly ConfirmedOrder[]) => orders.filter((one) => one.chain === chain);
    const holders = of(traffic.collections).map(({ to }) => to);
    const truth = await readChainTruth(chain, holders, hotWallet, CONFIRMATIONS);
    const paidTo = Map.groupBy([...truth.transfers, ...truth.hotWallet.sent], ({ to }) => to);
    for (const { orderId, to, baseUnits, symbol } of [...of(traffic.collections), ...of(traffic.payouts)]) {
      const paid = (paidTo.get(to) ?? []).map((one) => `${one.amount} ${one.symbol}`).join(' and ');
      if (paid !== `${baseUnits} ${symbol}`)
        problems.push(`${orderId}: ${paid} on chain, must be ${baseUnits}`);
      paidTo.delete(to);
    }
    problems.push(...[...paidTo.keys()].map((to) => `the hot wallet paid ${to} for no payout`));
  }
  for (const { orderId } of [...traffic.collections, ...traffic.payouts]) {
    const accepted = under.receiver.received.filter(
      ({ notifyType, data }) => data.orderId === orderId && notifyType === 'ORDER_SUCCESS',
    );
    const bodies = new Set(accepted.map(({ nonce, data }) => `${nonce} ${JSON.stringify(data)}`));
    if (bodies.size !== 1) problems.push(`${orderId}: ${bodies.size} bodies of ORDER_SUCCESS, must be 1`);
  }
  return problems;
}

async function untilAllIsPaid(gateway: FailoverGateway, traffic: Traffic): Promise<void> {
  const orders = [...traffic.collections, ...traffic.payouts];
  await waitUntil('all orders are paid', () => orders.every((one) => isReportedPaid(gateway.under, one)));
  const openSweeps = () => count(gateway, `sweep where state = 'OPEN'`);
  for (let open = await openSweeps(); open > 0; open = await openSweeps())
    await waitUntil('a sweep ends', async () => (await openSweeps()) < open);
  expect(await count(gateway, `orders where status = 'SUCCESS' and order_type = 'COLLECTION'`)).toBe(
    traffic.collections.length,
  );
  expect(await count(gateway, `sweep where state = 'DONE'`)).toBeGreaterThanOrEqual(
    SWEPT_PER_CHAIN * Object.keys(gateway.under.chains).length,
  );
  expect(await count(gateway, `sweep where state <> 'DONE'`)).toBe(0);
}

async function report(gateway: FailoverGateway, traffic: Traffic, fault: Fault, times: Times): Promise<void> {
  const { received } = gateway.under.receiver;
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  const events = new Set(received.map(({ nonce }) => nonce)).size;
  process.stdout.write(
    `failover of the gateway: ${fault.name}: ${traffic.collections.length} collections, ` +
      `${traffic.payouts.length} payouts, ${await count(gateway, 'sweep')} sweeps, ${received.length} callbacks of ${events} events, ` +
      `promotion took ${seconds(times.promotionMs)}, after it first payment credited by ` +
      `${seconds(times.creditedMs)}, first payout settled by ${seconds(times.paidOutMs)}\n`,
  );
}

test.each([KILLED, CUT_OFF].map((fault) => [fault.name, fault] as const))(
  'settles each payment once over a failover: %s',
  async (_name, fault) => {
    world = await startFailoverGateway();
    const gateway = world;
    const traffic = keepPaying(gateway.under);
    const scenario = async (): Promise<void> => {
      const unpaid = await untilAllInFlight(gateway, traffic);
      const times = await failOver(gateway, fault, unpaid);
      await paidFromBeginToEnd(gateway, traffic);
      const nextOnOld = await letOldPrimaryReturn(gateway, fault);
      const sweeps = await count(gateway, 'sweep');
      await sweep(gateway);
      await waitUntil('more sweeps begin', async () => (await count(gateway, 'sweep')) > sweeps);
      await paidFromBeginToEnd(gateway, traffic);
      await traffic.stop();
      await untilAllIsPaid(gateway, traffic);
      expect(await gateway.under.findProblems()).toEqual([]);
      expect(await findPaymentProblems(gateway, traffic)).toEqual([]);
      expect(await nextTransactionId(gateway)).toBe(nextOnOld); // the old primary got no write
      await report(gateway, traffic, fault, times);
    };
    await Promise.race([scenario(), traffic.failed, gateway.under.gateway.died]);
  },
);
