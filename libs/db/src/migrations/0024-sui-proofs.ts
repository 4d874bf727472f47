/**
 * Which stretches of a chain the own scan has proven, and which epochs the chain's validators have certified: without both no
 * transaction that epochs end is dead, unless an operator decides about it. Only added to.
 */
export const name = '0024-sui-proofs';

const SUI_CHAIN = `chain = any (array(select f.chain from chain_family f where f.family = 'SUI'))`;

export const sql: readonly string[] = [
  `
alter table chain_cursor add column if not exists proven_after_height bigint, add column if not exists proven_height bigint;
comment on column chain_cursor.proven_after_height is 'SUI: every checkpoint above this height, up to proven_height, was read without a gap and checked against the digest that names it. Null: none was.';
comment on column chain_cursor.proven_height is 'SUI: how far proven_after_height holds. Where it is not verified_height, older code moved the cursor: the next proof begins anew.';`,
  `
create table if not exists epoch_end ( -- writer: scanner-sui
  chain text not null,
  epoch bigint not null,
  after_height bigint not null,
  height bigint not null,
  hash text not null,
  read_at timestamptz not null default clock_timestamp(),
  primary key (chain, epoch),
  check (after_height < height)
);
comment on table epoch_end is 'SUI: the last checkpoint of an epoch as the own scan read it, and above which height it had proven every checkpoint up to it.';
create table if not exists epoch_committee ( -- writer: scanner-sui
  chain text not null,
  epoch bigint not null,
  members jsonb not null,
  is_trusted boolean not null,
  end_height bigint,
  end_hash text,
  learned_at timestamptz not null default clock_timestamp(),
  primary key (chain, epoch),
  check ((end_height is null) = (end_hash is null))
);
comment on table epoch_committee is 'SUI: the validators of an epoch. The first is trusted by the word of nodes; each later one is named by the checkpoint (end_height, end_hash) that the one before it has signed.';
${['epoch_end', 'epoch_committee']
  .map(
    (table) => `
alter table ${table} enable row level security;
drop policy if exists all_read on ${table};
create policy all_read on ${table} for select using (true);
drop policy if exists sui_inserts on ${table};
create policy sui_inserts on ${table} for insert to opentill_scanner_sui with check (${SUI_CHAIN});
grant select, insert on ${table} to opentill_scanner_sui;
grant select on ${table} to opentill_signer, opentill_ops;`,
  )
  .join('')}
drop policy if exists sui_updates on epoch_committee;
create policy sui_updates on epoch_committee for update to opentill_scanner_sui using (${SUI_CHAIN}) with check (${SUI_CHAIN});
grant update (end_height, end_hash) on epoch_committee to opentill_scanner_sui;`,
  `
-- Why it is not proven that a transaction is in no checkpoint above this height, up to the end of this epoch, unless the own scan read
-- it in one; null: it is. For what no epoch ends it is null.
create or replace function why_epochs_unproven(p_chain text, p_after_height bigint, p_last_epoch bigint) returns text
language sql stable security definer set search_path = public, pg_temp as $$
  select case when p_last_epoch is null then null
    when e.chain is null then 'the own scan has not proven the checkpoints up to the end of epoch ' || p_last_epoch
    when e.after_height > p_after_height
      then 'the own scan has proven no checkpoint up to ' || e.after_height || ', and it may have landed above ' || p_after_height
    when c.end_hash is null then 'the end of epoch ' || p_last_epoch || ' is not known to be certified by its validators'
    when (c.end_height, c.end_hash) <> (e.height, e.hash)
      then 'the validators of epoch ' || p_last_epoch || ' certified another end of it than the own scan read'
  end
  from (select) one
    left join epoch_end e on e.chain = p_chain and e.epoch = p_last_epoch
    left join epoch_committee c on c.chain = p_chain and c.epoch = p_last_epoch
$$;
revoke all on function why_epochs_unproven(text, bigint, bigint) from public;
grant execute on function why_epochs_unproven(text, bigint, bigint) to opentill_signer, opentill_ops;`,
  `
alter table payout_decision add column if not exists unproven_tx_hash text;
comment on column payout_decision.unproven_tx_hash is 'Of PAY_AGAIN, where epochs end transactions: the attempt that is over, and of which the operator says that it landed nowhere, in place of the proof. A decision is about this attempt and no later one.';
comment on column payout_decision.outcome is 'NOT_POSSIBLE: detail says why. PAY_AGAIN is DONE when the payout is signed again, or its open attempt is DEAD.';
create or replace function payout_decision_names_attempt() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if new.decision <> 'PAY_AGAIN' or not exists (
    select from payout_attempt a where a.order_pk = new.order_pk and a.tx_hash = new.unproven_tx_hash and a.state = 'OPEN'
      and a.last_epoch is not null and attempt_is_over(a.chain, a.expires_ms, a.last_epoch)
  ) then
    raise exception '% is no open attempt that is over', new.unproven_tx_hash using errcode = 'integrity_constraint_violation';
  end if;
  return new;
end $$;
revoke all on function payout_decision_names_attempt() from public;
create or replace trigger payout_decision_of_attempt before insert or update of unproven_tx_hash on payout_decision for each row
  when (new.unproven_tx_hash is not null) execute function payout_decision_names_attempt();
grant insert (unproven_tx_hash), update (unproven_tx_hash, reason, operator, decided_at) on payout_decision to opentill_ops;`,
];
