/** A wallet that sent what its database does not know is an incident, as one of whose nonces a stranger used. */
export const INCIDENTS: readonly string[] = [
  `alter table incident drop constraint if exists incident_kind_check,
     add constraint incident_kind_check check (kind in
       ('CREDITED_TRANSFER_ORPHANED', 'PAYOUT_ORPHANED', 'PAYOUT_SHORT', 'TOP_UP_ORPHANED', 'FOREIGN_NONCE', 'RESTORED'))`,
  `
-- Opened and closed with its halt, which is the one thing that the signer writes of it.
create or replace function halt_is_incident() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    insert into incident (incident_id, kind, chain, details, opened_at)
      values (new.halt_id, new.kind, new.chain, jsonb_build_object('wallet', new.wallet, 'reason', new.reason), new.set_at);
  else
    update incident set closed_at = new.released_at, closed_by = new.released_by, closed_reason = new.released_reason
      where incident_id = new.halt_id and closed_at is null;
  end if;
  return null;
end $$;
revoke all on function halt_is_incident() from public;
create or replace trigger wallet_halt_is_incident after insert on wallet_halt for each row
  when (new.kind in ('FOREIGN_NONCE', 'RESTORED')) execute function halt_is_incident();
create or replace trigger wallet_halt_ends_incident after update of released_at on wallet_halt for each row
  when (new.kind in ('FOREIGN_NONCE', 'RESTORED') and old.released_at is null and new.released_at is not null)
  execute function halt_is_incident();
drop function if exists foreign_nonce_is_incident();

insert into incident (incident_id, kind, chain, details, opened_at)
  select halt_id, kind, chain, jsonb_build_object('wallet', wallet, 'reason', reason), set_at from wallet_halt
  where kind = 'RESTORED' and released_at is null on conflict do nothing;
`,
];
