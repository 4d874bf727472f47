/** Callbacks sent again, as sets. */
export const REPLAYS = `
create index delivery_dead on delivery (merchant_id, created_at) where state = 'DEAD';

-- Makes callbacks due again by a new schedule, together, so that those of an order go out in their order. The caller gives
-- some of a larger choice: those in one of p_states (never PENDING) whose notification is of p_since or later and before
-- p_until. What each got:
--   REPLAYED
--   WAITING      waits already, or is under way: nothing is to be done
--   OTHER_STATE  not in p_states (any more)
--   NEWER_SENT   a newer one of its order, outside the choice, was sent or is being sent: an older must not follow it
--   NO_ENDPOINT  its merchant has no callback URL, or a disabled endpoint
-- All deliveries of these orders are locked first, in the order in which attempts that end lock theirs, and every newer one
-- that waits is touched: so a claim of a newer one is either seen here, or finds it not as it was when it chose it.
create function replay_deliveries(p_event_ids uuid[], p_states text[], p_since timestamptz, p_until timestamptz)
returns table (event_id uuid, outcome text) language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if cardinality(p_event_ids) > 1000 then
    raise exception 'at most 1000 callbacks at once' using errcode = 'check_violation';
  end if;
  perform from delivery d
    where d.subject_id in (select w.subject_id from delivery w where w.event_id = any(p_event_ids))
    order by d.subject_id, d.sequence for update;
  return query
    with wanted as (
      select d.event_id, case
          when d.state = 'PENDING' then 'WAITING'
          when d.state <> all(p_states) then 'OTHER_STATE'
          when m.callback_url is null or e.state = 'DISABLED' then 'NO_ENDPOINT'
          when exists (
            select from delivery newer join notification n on n.event_id = newer.event_id
            where newer.subject_id = d.subject_id and newer.sequence > d.sequence and (newer.lease_until >= now()
              or newer.state = 'DELIVERED'
                and not ('DELIVERED' = any(p_states) and n.occurred_at >= p_since and n.occurred_at < p_until))
          ) then 'NEWER_SENT'
          else 'REPLAYED' end as verdict
      from delivery d join merchant m on m.merchant_id = d.merchant_id
      left join callback_endpoint e on e.merchant_id = d.merchant_id
      where d.event_id = any(p_event_ids)
    ), replayed as (
      update delivery d set state = 'PENDING', schedule_base = d.attempts, next_attempt_at = now(), finished_at = null
      from wanted w where d.event_id = w.event_id and w.verdict = 'REPLAYED'
      returning d.subject_id, d.sequence
    ), behind as (
      update delivery d set next_attempt_at = d.next_attempt_at + interval '1 microsecond'
      where d.state = 'PENDING' and exists (select from replayed r where r.subject_id = d.subject_id and r.sequence < d.sequence)
    )
    select w.event_id, w.verdict from wanted w;
end $$;
grant execute on function replay_deliveries(uuid[], text[], timestamptz, timestamptz) to opentill_ops;
`;
