import { sql } from 'kysely';
import type { OpsInput } from '@opentill/contracts/ops/catalog';
import type { Db } from '@opentill/db/database';
import { isSymbol } from './is-symbol.ts';
import type { Chain, Family } from '@opentill/domain/chains';
import { spellings } from '../format.ts';

export async function findHotWallets(db: Db, after: string | undefined, limit: number) {
  const key = sql<string>`family || ':' || address`;
  let query = db
    .selectFrom('hot_wallet')
    .select(['family', 'address', 'label', 'added_at as addedAt', key.as('key')])
    .orderBy(key)
    .limit(limit);
  if (after !== undefined) query = query.where(key, '>', after);
  return query.execute();
}

/** Finds any spelling; returns the canonical form. */
export async function findHotWallet(db: Db, family: Family, address: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('hot_wallet')
    .select('address')
    .where('family', '=', family)
    .where('address', 'in', spellings(address))
    .executeTakeFirst();
  return row?.address;
}

export async function balancesOf(db: Db, wallets: readonly string[]) {
  if (wallets.length === 0) return [];
  return db
    .selectFrom('hot_wallet_balance')
    .select([
      'chain',
      'wallet',
      'symbol',
      'contract_address as contractAddress',
      'amount',
      'block_height as blockHeight',
      'seen_at as seenAt',
    ])
    .where('wallet', 'in', wallets)
    .orderBy('chain')
    .orderBy('symbol')
    .execute();
}

const HALT = [
  'halt_id as haltId',
  'chain',
  'wallet',
  'kind',
  'reason',
  'set_at as setAt',
  'set_by as setBy',
  'released_at as releasedAt',
  'released_by as releasedBy',
  'released_reason as releasedReason',
] as const;

export async function findHalts(
  db: Db,
  filter: OpsInput<'listHalts'>,
  after: string | undefined,
  limit: number,
) {
  let query = db.selectFrom('wallet_halt').select(HALT).orderBy('halt_id', 'desc').limit(limit);
  if (after !== undefined) query = query.where('halt_id', '<', after);
  if (filter.chain !== undefined) query = query.where('chain', '=', filter.chain);
  if (filter.open !== undefined) query = query.where('released_at', filter.open ? 'is' : 'is not', null);
  return query.execute();
}
export type HaltRow = Awaited<ReturnType<typeof findHalts>>[number];

export async function readHalt(db: Db, haltId: string): Promise<HaltRow | undefined> {
  return db.selectFrom('wallet_halt').select(HALT).where('halt_id', '=', haltId).executeTakeFirst();
}

export async function insertHalt(
  db: Db,
  halt: { haltId: string; chain: Chain; wallet: string | null; reason: string; setBy: string; setAt: Date },
): Promise<HaltRow> {
  return db
    .insertInto('wallet_halt')
    .values({
      halt_id: halt.haltId,
      chain: halt.chain,
      wallet: halt.wallet,
      kind: 'OPERATOR',
      reason: halt.reason,
      set_by: halt.setBy,
      set_at: halt.setAt,
    })
    .returning(HALT)
    .executeTakeFirstOrThrow();
}

export async function releaseHalt(
  db: Db,
  haltId: string,
  release: { at: Date; by: string; reason: string },
): Promise<HaltRow | undefined> {
  return db
    .updateTable('wallet_halt')
    .set({ released_at: release.at, released_by: release.by, released_reason: release.reason })
    .where('halt_id', '=', haltId)
    .where('released_at', 'is', null)
    .returning(HALT)
    .executeTakeFirst();
}

const HOLD = [
  'hold_id as holdId',
  'chain',
  'symbol',
  'incident_id as incidentId',
  'reason',
  'set_at as setAt',
  'set_by as setBy',
  'released_at as releasedAt',
  'released_by as releasedBy',
  'released_reason as releasedReason',
] as const;

export async function findHolds(
  db: Db,
  filter: OpsInput<'listHolds'>,
  after: string | undefined,
  limit: number,
) {
  let query = db.selectFrom('asset_hold').select(HOLD).orderBy('hold_id', 'desc').limit(limit);
  if (after !== undefined) query = query.where('hold_id', '<', after);
  if (filter.chain !== undefined) query = query.where('chain', '=', filter.chain);
  if (filter.symbol !== undefined) query = query.where(isSymbol('symbol', filter.symbol));
  if (filter.open !== undefined) query = query.where('released_at', filter.open ? 'is' : 'is not', null);
  return query.execute();
}
export type HoldRow = Awaited<ReturnType<typeof findHolds>>[number];

export async function readHold(db: Db, holdId: string): Promise<HoldRow | undefined> {
  return db.selectFrom('asset_hold').select(HOLD).where('hold_id', '=', holdId).executeTakeFirst();
}

export async function insertHold(
  db: Db,
  hold: { holdId: string; chain: Chain; symbol: string; reason: string; setBy: string; setAt: Date },
): Promise<HoldRow> {
  return db
    .insertInto('asset_hold')
    .values({
      hold_id: hold.holdId,
      chain: hold.chain,
      symbol: hold.symbol,
      reason: hold.reason,
      set_by: hold.setBy,
      set_at: hold.setAt,
    })
    .returning(HOLD)
    .executeTakeFirstOrThrow();
}

export async function releaseHold(
  db: Db,
  holdId: string,
  release: { at: Date; by: string; reason: string },
): Promise<HoldRow | undefined> {
  return db
    .updateTable('asset_hold')
    .set({ released_at: release.at, released_by: release.by, released_reason: release.reason })
    .where('hold_id', '=', holdId)
    .where('released_at', 'is', null)
    .returning(HOLD)
    .executeTakeFirst();
}

const INCIDENT = [
  'incident_id as incidentId',
  'kind',
  'chain',
  'symbol',
  'order_pk as orderPk',
  'transfer_id as transferId',
  'details',
  'opened_at as openedAt',
  'closed_at as closedAt',
  'closed_by as closedBy',
  'closed_reason as closedReason',
] as const;

export async function findIncidents(
  db: Db,
  filter: OpsInput<'listIncidents'>,
  after: string | undefined,
  limit: number,
) {
  let query = db.selectFrom('incident').select(INCIDENT).orderBy('incident_id', 'desc').limit(limit);
  if (after !== undefined) query = query.where('incident_id', '<', after);
  if (filter.chain !== undefined) query = query.where('chain', '=', filter.chain);
  if (filter.orderPk !== undefined) query = query.where('order_pk', '=', filter.orderPk);
  if (filter.open !== undefined) query = query.where('closed_at', filter.open ? 'is' : 'is not', null);
  return query.execute();
}
export type IncidentRow = Awaited<ReturnType<typeof findIncidents>>[number];

export async function readIncident(db: Db, incidentId: string): Promise<IncidentRow | undefined> {
  return db.selectFrom('incident').select(INCIDENT).where('incident_id', '=', incidentId).executeTakeFirst();
}

export async function closeIncident(
  db: Db,
  incidentId: string,
  close: { at: Date; by: string; reason: string },
): Promise<IncidentRow | undefined> {
  return db
    .updateTable('incident')
    .set({ closed_at: close.at, closed_by: close.by, closed_reason: close.reason })
    .where('incident_id', '=', incidentId)
    .where('closed_at', 'is', null)
    .returning(INCIDENT)
    .executeTakeFirst();
}
