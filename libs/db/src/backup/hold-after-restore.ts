import type pg from 'pg';
import type { Family } from '@opentill/domain/chains';
import type { IndexJump } from './index-jump.ts';
import type { Manifest } from './manifest.ts';
import { depositSequence } from './export-database.ts';

export interface WalletOfFamily {
  readonly family: Family;
  readonly address: string;
}

export interface HoldPlan {
  readonly restoreId: string;
  readonly manifest: Pick<Manifest, 'backupId' | 'takenAt'>;
  readonly jumps: readonly IndexJump[];
  /** From the public key file, because the database may not have known them yet. */
  readonly wallets: readonly WalletOfFamily[];
}

export interface Held {
  readonly wallets: number;
  readonly doubtfulPayouts: number;
}

/**
 * The row belongs to a deposit address. The signer derives their keys, and they pay only the gateway's own addresses.
 */
const IS_DEPOSIT = (row: string) =>
  `exists (select from deposit_address d join chain_family f using (family) where f.chain = ${row}.chain and d.address = ${row}.wallet)`;

/** Later than the lifetime of any signer. */
const LEASE_END = '9999-12-31T00:00:00Z';

/**
 * Makes a restored database safe to start services on, within the restore's transaction:
 *
 * - Deposit indexes jump past all that may have been assigned since the backup.
 * - The restore takes the lease of every wallet. Without it no signer authorises, signs or sends, not even one
 * without restore support, and only the restore writes the wallet's nonces. The halt RESTORED tells operators the
 * reason and stops expiry. Deposit addresses are held if a transaction of theirs is pending.
 * - It takes the lease of each chain's sweeps, so that no deposit address is emptied before past sweeps are known.
 * - Unsigned payouts return to REQUESTED with a stopped clock. They may have been paid, refused or expired since,
 * so an operator must decide before they are signed or expire.
 */
export async function holdAfterRestore(client: pg.ClientBase, plan: HoldPlan): Promise<Held> {
  const { restoreId, manifest, jumps } = plan;
  await client.query('insert into restoration (restore_id, backup_id, taken_at) values ($1, $2, $3)', [
    restoreId,
    manifest.backupId,
    manifest.takenAt,
  ]);
  for (const { family, next } of jumps) {
    await client.query('select setval($1::regclass, $2, false)', [depositSequence(family), next]);
    await client.query(
      'insert into skipped_index (restore_id, family, from_index, to_index) values ($1, $2, 0, $3)',
      [restoreId, family, next],
    );
  }
  const wallets = await holdWallets(client, plan);
  const doubtfulPayouts = await stopClocks(client, restoreId);
  await client.query(
    `insert into audit_entry (operator, action, subject, outcome, details) values ('opentill restore', 'restore', $1, 'DONE', $2)`,
    [manifest.backupId, JSON.stringify({ restoreId, takenAt: manifest.takenAt, jumps })],
  );
  return { wallets, doubtfulPayouts };
}

async function holdWallets(
  client: pg.ClientBase,
  { restoreId, manifest, wallets }: HoldPlan,
): Promise<number> {
  const { rowCount } = await client.query(
    `insert into restore_hold (restore_id, chain, wallet, from_height)
     select $1, held.chain, held.wallet, coalesce(c.verified_height, 0)
     from (
       select f.chain, w.address as wallet from chain_family f join (
         select family, address from hot_wallet
         union select * from jsonb_to_recordset($2) as given (family text, address text)) w using (family)
       union select n.chain, n.wallet from wallet_nonce n where not ${IS_DEPOSIT('n')} or n.state = 'SIGNED'
       union select p.chain, p.wallet from payout p where not ${IS_DEPOSIT('p')} or p.state in ('REQUESTED', 'AUTHORISED')
       union select a.chain, a.wallet from payout_attempt a where a.state = 'OPEN') held
     left join chain_cursor c on c.chain = held.chain`,
    [restoreId, JSON.stringify(wallets)],
  );
  await client.query(
    `insert into signer.lease as l (name, holder, fencing_token, expires_at)
     select 'wallet/' || chain || '/' || wallet, 'restore ' || $1::text, 1, $2::timestamptz from restore_hold where restore_id = $1::uuid
     on conflict (name) do update
       set holder = excluded.holder, fencing_token = l.fencing_token + 1, expires_at = excluded.expires_at`,
    [restoreId, LEASE_END],
  );
  await client.query(
    `insert into signer.lease as l (name, holder, fencing_token, expires_at)
     select 'sweeps/' || chain, 'restore ' || $1::text, 1, $2::timestamptz from chain_family
     on conflict (name) do update
       set holder = excluded.holder, fencing_token = l.fencing_token + 1, expires_at = excluded.expires_at`,
    [restoreId, LEASE_END],
  );
  await client.query(
    `insert into wallet_halt (halt_id, chain, wallet, kind, reason, set_by, set_at)
     select gen_random_uuid(), chain, wallet, 'RESTORED', $2, 'opentill restore', clock_timestamp()
     from restore_hold where restore_id = $1 on conflict do nothing`,
    [restoreId, `restored from the backup of ${manifest.takenAt}; ends with opentill restore release`],
  );
  return rowCount ?? 0;
}

async function stopClocks(client: pg.ClientBase, restoreId: string): Promise<number> {
  const { rowCount } = await client.query(
    `insert into doubtful_payout (order_pk, restore_id) select order_pk, $1 from payout where state in ('REQUESTED', 'AUTHORISED')
     on conflict (order_pk) do update
       set restore_id = excluded.restore_id, decision = null, decided_by = null, decided_reason = null, decided_at = null`,
    [restoreId],
  );
  // An attempt that was open may have died since, and a lost one may have landed. It must not become DEAD meanwhile.
  await client.query(
    `insert into doubtful_payout (order_pk, restore_id) select distinct order_pk, $1::uuid from payout_attempt where state = 'OPEN'
     on conflict (order_pk) do update
       set restore_id = excluded.restore_id, decision = null, decided_by = null, decided_reason = null, decided_at = null`,
    [restoreId],
  );
  await client.query(
    `update wallet_nonce set order_pk = null, updated_at = clock_timestamp() where state = 'RESERVED' and order_pk is not null`,
  );
  // The trigger rejects this state change, which only a restore makes.
  await client.query('alter table payout disable trigger payout_kept');
  await client.query(
    `update payout set state = 'REQUESTED', authorised_at = null, waiting_since = coalesce(waiting_since, clock_timestamp()),
       obstacle = 'MAYBE_PAID', obstacle_at = clock_timestamp(), version = version + 1, updated_at = clock_timestamp()
     where state in ('REQUESTED', 'AUTHORISED')`,
  );
  await client.query('alter table payout enable trigger payout_kept');
  return rowCount ?? 0;
}
