import { randomBytes, randomUUID } from 'node:crypto';
import type pg from 'pg';
import { loadDisplayForms } from '@opentill/confirmation-tracker/display-forms';
import { settleTransfers, type HandlerDeps } from '@opentill/confirmation-tracker/handlers/settle-event';
import { sweepDueOrders } from '@opentill/confirmation-tracker/sweep-due-orders';
import { newId } from '@opentill/runtime/ids';
import type { Benchmark } from '../report.ts';
import { withServers } from '../servers.ts';
import { median, round } from '../statistics.ts';

type Status = 'PENDING' | 'EXPIRED' | 'FAILED';

const MEASURED = 100;
/** Discarded measurements while V8 optimises the code. */
const WARMING = 20;

export const dust: Benchmark = ({ say, quick }) =>
  withServers(say, async ({ admin, open }) => {
    const tracker = open('tracker');
    try {
      const deps = await trackerDeps(tracker.kysely);
      await admin.query(
        `insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed) values ('bench', 'bench', 'V3', '', '')`,
      );
      const rows = [];
      for (const status of ['PENDING', 'EXPIRED', 'FAILED'] as const) {
        for (const transfers of quick ? [10, 1_000] : [10, 1_000, 100_000]) {
          rows.push([status, transfers, ...(await measureOrder(admin, deps, status, transfers))]);
          say(JSON.stringify(rows.at(-1)));
        }
      }
      return [
        {
          title: `One more verified transfer to an order, medians of ${MEASURED}`,
          columns: ['order', 'transfers there', 'insert ms', 'settle ms', 'expire once, ms'],
          rows,
        },
      ];
    } finally {
      await tracker.close();
    }
  });

async function trackerDeps(db: HandlerDeps['db']): Promise<HandlerDeps> {
  const nothing = () => undefined;
  return {
    db,
    newId,
    clock: { now: () => new Date() },
    displayOf: await loadDisplayForms([]),
    verifiedDepths: new Map([['ETH_SEPOLIA', 3]]),
    tokens: [],
    dustBelow: () => 0n,
    nativeSymbolOf: () => 'ETH',
    wakeRelay: nothing,
    observe: {
      orderSettled: nothing,
      notSettled: (which, error) => {
        throw new Error(`not settled: ${JSON.stringify(which)}`, { cause: error });
      },
      transfersSwept: nothing,
      fatesSwept: nothing,
      topUpBooked: nothing,
      gasMadePayable: nothing,
      sweepFailed: nothing,
      presenceFailed: nothing,
      inboxRolled: nothing,
    },
  };
}

/** The insert includes the trigger's sums. Only a PENDING order expires, with an unmatched deposit per transfer. */
async function measureOrder(
  admin: pg.Client,
  deps: HandlerDeps,
  status: Status,
  transfers: number,
): Promise<readonly (number | string)[]> {
  const order = { orderPk: randomUUID(), address: `0x${randomBytes(20).toString('hex')}` };
  await moveVerifiedTime(admin, '2026-01-01T00:10:00Z');
  await admin.query(
    `insert into orders (order_pk, merchant_id, order_id, order_type, status, chain, family, symbol, contract_address, decimals,
       display_decimals, amount, accepted_amount, address, confirmations_required, created_at, expires_at)
     values ($1::uuid, 'bench', $1::uuid::text, 'COLLECTION', $2, 'ETH_SEPOLIA', 'EVM', 'USDT', '0xdec06', 6, 2, 1e12, 1e12, $3, 12, '2026-01-01T00:00:00Z', '2026-01-01T00:30:00Z')`,
    [order.orderPk, status, order.address],
  );
  await admin.query(
    `insert into deposit_address (family, address, derivation_index, order_pk) select 'EVM', $1, count(*), $2 from deposit_address`,
    [order.address, order.orderPk],
  );
  const time = status === 'PENDING' ? '2026-01-01T00:05:00Z' : '2026-01-01T00:35:00Z';
  const { rows } = await admin.query<{ transfer_id: string }>(INSERT, [
    order.address,
    transfers,
    time,
    order.orderPk,
    status === 'PENDING' ? 'DETECTED' : 'VERIFIED',
  ]);
  await admin.query(
    `insert into transfer_settlement (transfer_id, settled_version, order_pk) select unnest($1::bigint[]), 1, $2`,
    [rows.map((row) => row.transfer_id), order.orderPk],
  );
  if (status !== 'PENDING') {
    await admin.query(
      `insert into unmatched_deposit (transfer_id, merchant_id, order_pk, reason) select unnest($1::bigint[]), 'bench', $2, $3`,
      [rows.map((row) => row.transfer_id), order.orderPk, status === 'FAILED' ? 'ORDER_FAILED' : 'LATE'],
    );
  }
  await admin.query('vacuum analyze');
  const inserts: number[] = [];
  const settles: number[] = [];
  for (let i = 0; i < WARMING + MEASURED; i += 1) {
    const began = performance.now();
    const one = await admin.query<{ transfer_id: number }>(INSERT, [
      order.address,
      1,
      time,
      `${order.orderPk} ${i}`,
      'VERIFIED',
    ]);
    const inserted = performance.now();
    await settleTransfers(
      deps,
      one.rows.map((row) => row.transfer_id),
    );
    if (i < WARMING) continue;
    inserts.push(inserted - began);
    settles.push(performance.now() - inserted);
  }
  const expireMs = status === 'PENDING' ? await expire(admin, deps) : '';
  return [round(median(inserts)), round(median(settles)), expireMs];
}

const INSERT = `
  insert into transfer (chain, family, tx_hash, position, contract_address, symbol, from_address, to_address, amount,
    block_height, block_hash, block_time, first_block_time, state)
  select 'ETH_SEPOLIA', 'EVM', $4::text || n, 'log:0', '0xdec06', 'USDT', '0xf0', $1, 1, 1000 + n / 50, '0xb10c', $3::timestamptz,
    $3::timestamptz, $5 from generate_series(1, $2::int) n
  returning transfer_id`;

async function expire(admin: pg.Client, deps: HandlerDeps): Promise<number> {
  await moveVerifiedTime(admin, '2026-01-01T00:45:00Z');
  const began = performance.now();
  await sweepDueOrders(deps);
  return round(performance.now() - began);
}

async function moveVerifiedTime(admin: pg.Client, time: string): Promise<void> {
  await admin.query(
    `insert into chain_cursor (chain, family, head_height, head_hash, head_time, seen_height, seen_hash, verified_height,
       verified_hash, verified_time, fencing_token)
     values ('ETH_SEPOLIA', 'EVM', 100000, '0xa', $1, 100000, '0xa', 99998, '0xb', $1, 0)
     on conflict (chain) do update set verified_time = excluded.verified_time`,
    [time],
  );
}
