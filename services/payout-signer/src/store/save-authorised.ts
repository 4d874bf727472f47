import { sql } from 'kysely';
import type { Tx } from '@opentill/db/database';
import type { Authorisations, Obstacle, WalletKey } from '../payouts/payout-facts.ts';
import { closeStaleDecisions } from './close-decisions.ts';
import { lockPayouts } from './rows.ts';

/** Only operators remove these. Under them the payout's expiry clock may be stopped. */
const WAITING: readonly Obstacle[] = ['NEEDS_APPROVAL', 'MAYBE_PAID'];

export interface SavedDecisions {
  readonly authorised: readonly string[];
  readonly refused: readonly string[];
}

/** Skips payouts that are no longer REQUESTED. */
export async function saveDecisions(
  tx: Tx,
  key: WalletKey,
  fencingToken: number,
  decisions: Authorisations,
): Promise<SavedDecisions> {
  await lockPayouts(tx, [
    ...decisions.authorised,
    ...decisions.needApproval,
    ...decisions.stillNeedApproval,
    ...decisions.heldBack,
    ...[...decisions.refused, ...decisions.obstacles].map(({ orderPk }) => orderPk),
  ]);
  const refused = await refuse(tx, key, fencingToken, decisions.refused);
  await askForApproval(tx, key, fencingToken, decisions.needApproval);
  await noteJudgedAgain(tx, decisions.stillNeedApproval);
  await holdBack(tx, decisions.heldBack);
  await writeObstacles(tx, key, fencingToken, decisions.obstacles);
  return { authorised: await moveToAuthorised(tx, key, fencingToken, decisions.authorised), refused };
}

async function refuse(
  tx: Tx,
  key: WalletKey,
  token: number,
  refused: Authorisations['refused'],
): Promise<readonly string[]> {
  if (refused.length === 0) return [];
  const { rows } = await sql<{ order_pk: string }>`
    update payout p set state = 'REFUSED', reason = r.reason, obstacle = null, obstacle_at = null, waiting_since = null,
      fencing_token = ${token}, version = p.version + 1, updated_at = now()
    from unnest(${refused.map((r) => r.orderPk)}::uuid[], ${refused.map((r) => r.reason)}::text[]) as r (order_pk, reason)
    where p.order_pk = r.order_pk and p.chain = ${key.chain} and p.wallet = ${key.wallet} and p.state = 'REQUESTED'
    returning p.order_pk`.execute(tx);
  return rows.map((row) => row.order_pk);
}

/** Stops the expiry clock of unexpired payouts. One that waited for another decision gets that time back. */
async function askForApproval(
  tx: Tx,
  key: WalletKey,
  token: number,
  orderPks: readonly string[],
): Promise<void> {
  if (orderPks.length === 0) return;
  await sql`
    update payout p set waiting_since = clock_timestamp(), obstacle = 'NEEDS_APPROVAL', obstacle_at = now(),
      expires_at = p.expires_at + coalesce(clock_timestamp() - p.waiting_since, interval '0'),
      fencing_token = ${token}, version = p.version + 1, updated_at = now()
    where p.order_pk = any(${orderPks}::uuid[]) and p.chain = ${key.chain} and p.wallet = ${key.wallet}
      and p.state = 'REQUESTED' and (p.waiting_since is not null or p.expires_at > clock_timestamp())`.execute(
    tx,
  );
}

async function noteJudgedAgain(tx: Tx, orderPks: readonly string[]): Promise<void> {
  if (orderPks.length === 0) return;
  await sql`
    update payout p set obstacle_at = clock_timestamp(), updated_at = now()
    where p.order_pk = any(${orderPks}::uuid[]) and p.state = 'REQUESTED' and p.obstacle = 'NEEDS_APPROVAL'`.execute(
    tx,
  );
}

/** Each round reads the payout again (readRequested). */
async function holdBack(tx: Tx, orderPks: readonly string[]): Promise<void> {
  if (orderPks.length === 0) return;
  await sql`
    update payout p set obstacle_at = null, updated_at = now()
    where p.order_pk = any(${orderPks}::uuid[]) and p.state = 'REQUESTED' and p.obstacle = 'NEEDS_APPROVAL'`.execute(
    tx,
  );
}

export async function noteObstacles(
  tx: Tx,
  key: WalletKey,
  token: number,
  obstacles: Authorisations['obstacles'],
): Promise<void> {
  await lockPayouts(
    tx,
    obstacles.map(({ orderPk }) => orderPk),
  );
  await writeObstacles(tx, key, token, obstacles);
}

/**
 * Gives payouts that waited for operators the waited time back: a halt stops no clock. NEEDS_DECISION of an AUTHORISED
 * payout stays until the decision, and keeps the payout from expiring (expire_payouts).
 */
async function writeObstacles(
  tx: Tx,
  key: WalletKey,
  token: number,
  obstacles: readonly { readonly orderPk: string; readonly obstacle: Obstacle }[],
): Promise<void> {
  if (obstacles.length === 0) return;
  await sql`
    update payout p set obstacle = case
        when p.state = 'AUTHORISED' and p.obstacle = 'NEEDS_DECISION' and not attempt_is_decided(p.order_pk) then p.obstacle
        else o.obstacle end,
      obstacle_at = clock_timestamp(), fencing_token = ${token}, updated_at = now(),
      expires_at = case when o.obstacle = any(${WAITING}::text[]) then p.expires_at
        else p.expires_at + coalesce(clock_timestamp() - p.waiting_since, interval '0') end,
      waiting_since = case when o.obstacle = any(${WAITING}::text[]) then p.waiting_since end
    from unnest(${obstacles.map((o) => o.orderPk)}::uuid[], ${obstacles.map((o) => o.obstacle)}::text[])
      as o (order_pk, obstacle)
    where p.order_pk = o.order_pk and p.chain = ${key.chain} and p.wallet = ${key.wallet}
      and p.state in ('REQUESTED', 'AUTHORISED', 'SIGNED')`.execute(tx);
  const undecided = obstacles.filter(({ obstacle }) => obstacle === 'NEEDS_DECISION');
  await closeStaleDecisions(
    tx,
    undecided.map(({ orderPk }) => orderPk),
  );
}

/** Adds the time that payouts waited for operators to their expiry. Returns those moved, in the given order. */
async function moveToAuthorised(
  tx: Tx,
  key: WalletKey,
  token: number,
  orderPks: readonly string[],
): Promise<readonly string[]> {
  if (orderPks.length === 0) return [];
  const { rows } = await sql<{ order_pk: string }>`
    update payout p set state = 'AUTHORISED', authorised_at = clock_timestamp(), obstacle = null, obstacle_at = null,
      expires_at = p.expires_at + coalesce(clock_timestamp() - p.waiting_since, interval '0'), waiting_since = null,
      fencing_token = ${token}, version = p.version + 1, updated_at = now()
    where p.order_pk = any(${orderPks}::uuid[]) and p.chain = ${key.chain} and p.wallet = ${key.wallet}
      and p.state = 'REQUESTED' and (p.waiting_since is not null or p.expires_at > clock_timestamp())
      and not exists (select from payout_veto v where v.order_pk = p.order_pk)
    returning p.order_pk`.execute(tx);
  const moved = new Set(rows.map((row) => row.order_pk));
  return orderPks.filter((orderPk) => moved.has(orderPk));
}
