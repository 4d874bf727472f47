import { sql } from 'kysely';
import type { TxHash } from '@opentill/chain/transfer';
import type { Tx } from '@opentill/db/database';
import { closeStaleDecisions } from '../../store/close-decisions.ts';
import { lockPayouts } from '../../store/rows.ts';
import type { WalletKey } from '../../payouts/payout-facts.ts';
import type { MarkedDead } from './attempt-store.ts';
import { ofWallet, whyUnproven } from './rows.ts';

/**
 * Triggers check too that the attempts are over and in no block. An operator's decision about an attempt is used up
 * here and permits no later attempt.
 *
 * Not marked until an operator decides: an attempt that was open in a restored backup, and one whose payout an unknown
 * transaction may have paid. Another attempt may have landed since.
 *
 * A payout to a third party that has used its attempts without decision waits for one from this commit on. One with
 * fewer attempts and an earlier PAY_AGAIN gets a new expiry.
 */
export async function markAttemptsDead(
  tx: Tx,
  key: WalletKey,
  fencingToken: number,
  txHashes: readonly TxHash[],
  end: { readonly height: number; readonly hash: string },
  maxAttemptsWithoutDecision: number,
): Promise<MarkedDead> {
  const open = await sql<{ order_pk: string }>`
    select a.order_pk from payout_attempt a where ${ofWallet(key)} and a.tx_hash = any(${txHashes}::text[]) and a.state = 'OPEN'`.execute(
    tx,
  );
  const orderPks = open.rows.map((row) => row.order_pk);
  await lockPayouts(tx, orderPks);
  const { rows } = await sql<{ tx_hash: TxHash; order_pk: string }>`
    update payout_attempt a set state = 'DEAD', dead_height = ${end.height}, dead_hash = ${end.hash}, updated_at = clock_timestamp()
    where ${ofWallet(key)} and a.tx_hash = any(${txHashes}::text[]) and a.state = 'OPEN'
      and attempt_is_over(a.chain, a.expires_ms, a.last_epoch)
      and not exists (
        select from own_transaction_fate f
        where f.chain = a.chain and f.tx_hash = a.tx_hash and f.state in ('MINED', 'VERIFIED'))
      and not exists (select from own_transaction_landed l where l.chain = a.chain and l.tx_hash = a.tx_hash)
      and not may_have_been_paid(a.order_pk) and ${whyUnproven} is null
    returning a.tx_hash, a.order_pk`.execute(tx);
  const unsigned = await sql<{ order_pk: string; needs_decision: boolean }>`
    with judged as (
      select j.order_pk, o.expires_at - o.created_at as duration,
        not exists (select from movement m where m.order_pk = j.order_pk and m.kind <> 'REFUND')
          and (select count(*) from payout_attempt c where c.order_pk = j.order_pk) >= ${maxAttemptsWithoutDecision}::int8
          as needs_decision,
        exists (select from payout_decision d where d.order_pk = j.order_pk and d.decision = 'PAY_AGAIN' and d.handled_at is null)
          as is_decided
      from unnest(${rows.map((row) => row.order_pk)}::uuid[]) as j (order_pk) join orders o using (order_pk)
    )
    update payout p set state = 'AUTHORISED', fencing_token = ${fencingToken}, version = p.version + 1, updated_at = now(),
      obstacle = case when j.needs_decision then 'NEEDS_DECISION' else p.obstacle end,
      obstacle_at = case when j.needs_decision then clock_timestamp() else p.obstacle_at end,
      expires_at = case when j.is_decided and not j.needs_decision
        then greatest(p.expires_at, clock_timestamp() + j.duration) else p.expires_at end
    from judged j
    where p.order_pk = j.order_pk and p.chain = ${key.chain} and p.wallet = ${key.wallet} and p.state = 'SIGNED'
    returning p.order_pk, j.needs_decision`.execute(tx);
  const waiting = unsigned.rows.flatMap((row) => (row.needs_decision ? [row.order_pk] : []));
  // This commit carries out these decisions. For a payout that waits again, only the one about this attempt.
  await sql`
    update payout_decision d set handled_at = clock_timestamp(), outcome = 'DONE'
    where d.order_pk = any(${unsigned.rows.map((row) => row.order_pk)}::uuid[]) and d.decision = 'PAY_AGAIN'
      and d.handled_at is null and (d.unproven_tx_hash is not null or d.order_pk <> all(${waiting}::uuid[]))`.execute(
    tx,
  );
  await closeStaleDecisions(tx, waiting);
  return { dead: rows.map((row) => row.tx_hash), waiting };
}
