/** Callbacks that wait behind an older one of their order. */
export const WAITING = `
comment on column delivery.next_attempt_at is 'infinity: waits behind an older one of its order, and was put aside because it hid others from the claims.';

-- Whether a delivery keeps the newer ones of its order waiting: it waits itself, and has not failed three attempts yet. One
-- that has not ended is no failure.
create function delivery_blocks(d delivery) returns boolean language sql immutable as $$
  select d.state = 'PENDING' and d.attempts - d.schedule_base - (d.lease_until is not null)::int < 3
$$;

grant execute on function delivery_blocks(delivery) to opentill_webhook;

-- Makes due what was put aside behind it, up to and with the next one that blocks, whoever changed it and by whatever way.
-- Nothing is missed: who puts aside holds the lock of one that blocks, so he commits before that one changes, or sees it
-- changed; and the statements here, which come after the change, see all that was committed before it.
create function delivery_stopped_blocking() returns trigger language plpgsql set search_path = public, pg_temp as $$
declare v_next integer;
begin
  if not exists (select from delivery d where d.subject_id = new.subject_id and d.sequence > new.sequence
      and d.state = 'PENDING' and d.next_attempt_at = 'infinity')
    or exists (select from delivery d where d.subject_id = new.subject_id and d.sequence < new.sequence
      and d.state = 'PENDING' and delivery_blocks(d)) then
    return null;
  end if;
  select min(d.sequence) into v_next from delivery d
    where d.subject_id = new.subject_id and d.sequence > new.sequence and d.state = 'PENDING' and delivery_blocks(d);
  update delivery d set next_attempt_at = now()
    where d.subject_id = new.subject_id and d.sequence > new.sequence and d.sequence <= coalesce(v_next, d.sequence)
      and d.state = 'PENDING' and d.next_attempt_at = 'infinity';
  return null;
end $$;
create trigger delivery_stops_blocking after update on delivery for each row
  when (delivery_blocks(old) and not delivery_blocks(new)) execute function delivery_stopped_blocking();
`;
