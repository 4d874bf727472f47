import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { creationOf } from '@opentill/api/operations/new-order';
import { creations, type NewOrder } from '@opentill/api/store/create-orders';
import { settleTransfers } from '@opentill/confirmation-tracker/handlers/settle-event';
import { sweepDueOrders } from '@opentill/confirmation-tracker/sweep-due-orders';
import { findOrders } from '@opentill/ops/store/orders';
import { readOrders } from '@opentill/ops/store/ledger';
import { newId } from '@opentill/runtime/ids';
import { fillOrders, RARE_MERCHANT } from '../fill-orders.ts';
import type { Benchmark } from '../report.ts';
import { numberOf, withServers, type BenchServers } from '../servers.ts';
import { median, round } from '../statistics.ts';
import { trackerDeps } from '../tracker-deps.ts';

/** Old orders per open one. */
const OLD_SHARE = 3;
const CREATIONS_AT_ONCE = 32;
const PAGE_ROWS = 51;
const clock = { now: () => new Date() };

interface Scale {
  readonly open: number;
  readonly old: number;
  readonly wave: number;
}

export const orders: Benchmark = async ({ say, quick, openOrders }) => {
  const open = openOrders ?? (quick ? 2_000 : 1_000_000);
  const wave = Math.min(100_000, Math.floor(open / 4));
  const scales = [
    { open: wave, old: 0, wave },
    { open, old: open * OLD_SHARE, wave },
  ];
  const measured: ReadonlyMap<string, number>[] = [];
  for (const scale of scales) {
    say(`${scale.open} open and ${scale.old} old orders`);
    measured.push(await withServers(say, (servers) => measure(servers, scale, quick)));
  }
  return [
    {
      title: 'Databases of two sizes',
      columns: ['', ...scales.map((scale) => `${scale.open} open, ${scale.old} old`)],
      rows: [...(measured[0]?.keys() ?? [])].map((what) => [
        what,
        ...measured.map((figures) => figures.get(what) ?? ''),
      ]),
    },
  ];
};

async function measure(
  servers: BenchServers,
  scale: Scale,
  quick: boolean,
): Promise<ReadonlyMap<string, number>> {
  const { admin, open } = servers;
  const figures = new Map<string, number>();
  const empty = await numberOf(admin, 'select pg_database_size(current_database()) as n');
  await fillOrders(admin, scale);
  const full = await numberOf(admin, 'select pg_database_size(current_database()) as n');
  figures.set('bytes per order', round((full - empty) / (scale.open + scale.old), 0));
  const [api, tracker, ops] = [open('api'), open('tracker'), open('ops')];
  try {
    figures.set('createCollection, orders/s', await create(api.kysely, quick ? 64 : 3_200));
    const deps = await trackerDeps(tracker.kysely);
    figures.set('settle a payment, ms', await pay(admin, deps, quick ? 5 : 100));
    const pages = await measurePages(ops.kysely);
    for (const [what, ms] of pages) figures.set(what, ms);
    figures.set(`${scale.wave} orders expire, s`, await expire(admin, deps, scale.wave));
    figures.set('vacuum of orders, s', await secondsOf(() => admin.query('vacuum (analyze) orders')));
    return figures;
  } finally {
    await Promise.all([api.close(), tracker.close(), ops.close()]);
  }
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return round((performance.now() - began) / 1_000);
}

/** The store of the api, without HTTP. */
async function create(db: Parameters<typeof creations>[0], count: number): Promise<number> {
  const { createCollection } = creations(db);
  let next = 0;
  const createNext = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      const order = newOrder();
      const nonce = { merchantId: order.merchantId, nonce: newId(), expiresAt: order.expiresAt };
      const derivationIndex = 1_500_000_000 + next;
      const { outcome } = await createCollection({
        ...creationOf({ newId, clock }, order, nonce),
        derivationIndex,
      });
      if (outcome !== 'CREATED') throw new Error(`the order is ${outcome}`);
    }
  };
  const seconds = await secondsOf(() => Promise.all(Array.from({ length: CREATIONS_AT_ONCE }, createNext)));
  return round(count / seconds, 0);
}

function newOrder(): NewOrder {
  const createdAt = clock.now();
  return {
    orderPk: newId(),
    merchantId: 'bench',
    orderId: newId(),
    orderType: 'COLLECTION',
    uid: null,
    chain: 'ETH_SEPOLIA',
    family: 'EVM',
    symbol: 'USDT',
    contractAddress: '0xdec0600000000000000000000000000000000000',
    decimals: 6,
    displayDecimals: 2,
    amount: 12_500_000n,
    acceptedAmount: 12_500_000n,
    address: `0x${randomBytes(20).toString('hex')}`,
    sourceAddress: null,
    confirmationsRequired: 3,
    lateGraceSeconds: 0,
    returnUrl: null,
    description: null,
    signedDataHash: null,
    createdAt,
    expiresAt: new Date(createdAt.getTime() + 86_400_000),
  };
}

/** A verified transfer that covers an open order: insert with its sums, then credit. Median. */
async function pay(
  admin: pg.Client,
  deps: Awaited<ReturnType<typeof trackerDeps>>,
  count: number,
): Promise<number> {
  await moveVerifiedTime(admin, '-infinity');
  const { rows } = await admin.query<{ address: string }>(
    `select address from orders where status = 'INIT' and merchant_id = 'bench' order by cutoff_at desc limit $1`,
    [count],
  );
  const durations = [];
  for (const { address } of rows) {
    const began = performance.now();
    const inserted = await admin.query<{ transfer_id: number }>(
      `insert into transfer (chain, family, tx_hash, position, contract_address, symbol, from_address, to_address, amount,
         block_height, block_hash, block_time, first_block_time, state)
       select 'ETH_SEPOLIA', 'EVM', $1, 'log:0', contract_address, symbol, '0xf0', address, amount, 900000, '0xb10c',
         date_trunc('second', created_at), date_trunc('second', created_at), 'VERIFIED' from orders where address = $2 and chain = 'ETH_SEPOLIA' and order_pk = (
           select order_pk from deposit_address where family = 'EVM' and address = $2)
       returning transfer_id`,
      [`0x${randomBytes(32).toString('hex')}`, address],
    );
    await settleTransfers(
      deps,
      inserted.rows.map((row) => row.transfer_id),
    );
    durations.push(performance.now() - began);
  }
  return round(median(durations));
}

async function measurePages(
  db: Parameters<typeof findOrders>[0],
): Promise<readonly (readonly [string, number])[]> {
  const filters = {
    'newest page, ms': {},
    'page of open orders, ms': { status: 'INIT' },
    'page of failed orders, ms': { status: 'FAILED' },
    'page of a status without orders, ms': { status: 'PENDING' },
    'page of a merchant with 20 orders, ms': { merchantId: RARE_MERCHANT },
    'page of an order id, ms': { orderId: 'shop-7' },
    'page of a chain without orders, ms': { chain: 'TRON_TEST' },
  } as const satisfies Record<string, Parameters<typeof findOrders>[1]>;
  const pages: [string, number][] = [];
  for (const [what, filter] of Object.entries(filters)) {
    const durations = [];
    for (let i = 0; i < 5; i += 1) {
      const began = performance.now();
      await findOrders(db, filter, undefined, PAGE_ROWS);
      durations.push(performance.now() - began);
    }
    pages.push([what, round(median(durations), 1)]);
  }
  const day = { from: new Date(Date.now() - 50 * 86_400_000), until: new Date(Date.now() - 49 * 86_400_000) };
  const began = performance.now();
  for await (const rows of readOrders(db, day, AbortSignal.timeout(600_000))) void rows;
  pages.push(['export of a day, ms', round(performance.now() - began, 0)]);
  return pages;
}

async function expire(
  admin: pg.Client,
  deps: Awaited<ReturnType<typeof trackerDeps>>,
  count: number,
): Promise<number> {
  const { rows } = await admin.query<{ time: string }>(
    `select cutoff_at::text as time from orders where order_type = 'COLLECTION' and status in ('INIT', 'PENDING')
       and chain = 'ETH_SEPOLIA' order by cutoff_at offset $1 limit 1`,
    [count],
  );
  await moveVerifiedTime(admin, rows[0]?.time ?? 'infinity');
  return secondsOf(async () => {
    while ((await sweepDueOrders(deps)) === 'again');
  });
}

async function moveVerifiedTime(admin: pg.Client, time: string): Promise<void> {
  await admin.query(
    `insert into chain_cursor (chain, family, head_height, head_hash, head_time, seen_height, seen_hash, verified_height,
       verified_hash, verified_time, fencing_token)
     values ('ETH_SEPOLIA', 'EVM', 1000000, '0xa', now(), 1000000, '0xa', 999998, '0xb', $1, 0)
     on conflict (chain) do update set verified_time = excluded.verified_time`,
    [time],
  );
}
