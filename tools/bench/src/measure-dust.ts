import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { settleTransfers, type HandlerDeps } from '@opentill/confirmation-tracker/handlers/settle-event';
import { loadDisplayForms } from '@opentill/confirmation-tracker/display-forms';
import { sweepDueOrders } from '@opentill/confirmation-tracker/sweep-due-orders';
import { openDatabase } from '@opentill/db/database';
import { migrate } from '@opentill/db/migrate';
import { roleUrl, setRolePasswords } from '@opentill/db/roles';
import { findOrBringServers } from '@opentill/test-servers/servers';
import { newId } from '@opentill/runtime/ids';
import { median, round2 } from './median.ts';

const STATUSES = ['PENDING', 'EXPIRED', 'FAILED'] as const;
const COUNTS = [10, 1_000, 100_000] as const;
/** Transfers that are settled one after another, beyond those that warm up. */
const MEASURED = 100;
const WARMING = 20;

/** Medians of one more transfer, verified, to an order that has so many; those of the PENDING one are not final yet. */
export interface DustRow {
  readonly status: (typeof STATUSES)[number];
  readonly transfers: number;
  /** The scanner's insert, with the sums that its trigger keeps. */
  readonly insertMs: number;
  readonly settleMs: number;
  /** PENDING: to expire the order once, with an unmatched deposit for each transfer. */
  readonly expireMs: number | null;
}

export interface DustFigures {
  readonly dust: readonly DustRow[];
}

/** Measures what one more transfer to an order costs that has 10, 1,000 or 100,000 settled ones, on a database of its own. */
export async function measureDust(say: (line: string) => void): Promise<DustFigures> {
  const dir = mkdtempSync(join(tmpdir(), 'opentill-bench-dust-'));
  chmodSync(dir, 0o711); // Postgres runs as a user of its own when we are root
  const servers = await findOrBringServers({ dir, given: {}, keepData: false, say });
  const admin = new pg.Client({ connectionString: servers.database.url, application_name: 'bench' });
  try {
    await migrate(servers.database.url);
    const password = randomBytes(16).toString('hex');
    await setRolePasswords(servers.database.url, { tracker: password });
    await admin.connect();
    const url = roleUrl(servers.database.url, 'tracker', password);
    const tracker = openDatabase({ url, applicationName: 'bench tracker', prepareStatements: true });
    try {
      const deps = await trackerDeps(tracker.kysely);
      await admin.query(
        `insert into merchant (merchant_id, name, version, token_sealed, webhook_secret_sealed) values ('bench', 'bench', 'V3', '', '')`,
      );
      const dust: DustRow[] = [];
      for (const status of STATUSES) {
        for (const transfers of COUNTS) {
          dust.push(await measureOrder(admin, deps, status, transfers));
          say(JSON.stringify(dust.at(-1)));
        }
      }
      return { dust };
    } finally {
      await tracker.close();
    }
  } finally {
    await admin.end();
    await servers.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function trackerDeps(db: HandlerDeps['db']): Promise<HandlerDeps> {
  const nothing = () => undefined;
  return {
    db,
    newId,
    clock: { now: () => new Date() },
    displayOf: await loadDisplayForms([]),
    verifiedDepths: new Map([['ETH_SEPOLIA', 3]]),
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

async function measureOrder(
  admin: pg.Client,
  deps: HandlerDeps,
  status: DustRow['status'],
  transfers: number,
): Promise<DustRow> {
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
  return {
    status,
    transfers,
    insertMs: round2(median(inserts)),
    settleMs: round2(median(settles)),
    expireMs: status === 'PENDING' ? await expire(admin, deps) : null,
  };
}

/** Fifty to a block, as dust comes. */
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
  return round2(performance.now() - began);
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

export function describeDust({ dust }: DustFigures): readonly string[] {
  return [
    '| order | transfers there | insert ms | settle ms | expire once, ms |',
    '|---|---|---|---|---|',
    ...dust.map(
      ({ status, transfers, insertMs, settleMs, expireMs }) =>
        `| ${status} | ${transfers.toLocaleString('en')} | ${insertMs} | ${settleMs} | ${expireMs ?? ''} |`,
    ),
  ];
}
