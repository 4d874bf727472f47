-- Callbacks on their way to merchants, the health of their endpoints, and replays.

create table delivery ( -- writer: webhook-sender
  event_id uuid primary key references notification,
  merchant_id text not null references merchant,
  subject_id uuid not null,
  sequence integer not null,
  state text not null default 'PENDING' check (state in ('PENDING', 'DELIVERED', 'SUPERSEDED', 'DEAD')),
  attempts integer not null default 0,
  schedule_base integer not null default 0, -- attempts made before the last replay; the schedule counts from here
  next_attempt_at timestamptz not null,
  lease_until timestamptz,
  lease_holder text,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  unique (subject_id, sequence)
);
comment on column delivery.next_attempt_at is 'infinity: it waits behind an older delivery of its order and is excluded from claims.';
-- First attempts and retries are separate, so that a backlog of one is not read to find the other.
create index delivery_due_first on delivery (merchant_id, next_attempt_at) where state = 'PENDING' and attempts = schedule_base;
create index delivery_due_again on delivery (merchant_id, next_attempt_at) where state = 'PENDING' and attempts > schedule_base;
create index delivery_under_way on delivery (merchant_id) where lease_until is not null;
create index delivery_dead on delivery (merchant_id, created_at) where state = 'DEAD';
create index delivery_finished_at on delivery (finished_at, event_id) where finished_at is not null;

-- Partitioned like the inboxes. No reference to delivery: dropping a partition would lock the deliveries, and each
-- attempt would cost a lookup. The writer of an attempt holds the row of its delivery.
create table delivery_attempt ( -- writer: webhook-sender
  event_id uuid not null,
  attempt integer not null,
  started_at timestamptz not null,
  duration_ms integer not null,
  status_code integer,
  error text,
  response_excerpt text,
  error_code text,
  primary key (event_id, attempt)
) partition by range (event_id);
create table delivery_attempt_default partition of delivery_attempt default;
comment on column delivery_attempt.error_code is 'Kind of failure. Null when the attempt succeeded.';

create table callback_endpoint ( -- writer: webhook-sender; ops resets
  merchant_id text primary key references merchant,
  generation integer not null default 0,
  state text not null default 'CLOSED' check (state in ('CLOSED', 'OPEN', 'DISABLED')),
  failures_in_row integer not null default 0,
  window_began_at timestamptz,
  window_attempts integer not null default 0,
  window_failures integer not null default 0,
  openings integer not null default 0,
  opened_at timestamptz,
  closed_at timestamptz,
  probe_at timestamptz,
  probe_event_id uuid,
  probe_attempt integer,
  disabled_at timestamptz,
  disabled_reason text,
  last_failed_at timestamptz,
  last_error_code text,
  last_error text,
  updated_at timestamptz not null default now(),
  check ((state = 'OPEN') = (probe_at is not null)),
  check ((state = 'DISABLED') = (disabled_at is not null)),
  check ((probe_event_id is null) = (probe_attempt is null)),
  check (probe_event_id is null or state = 'OPEN')
) with (fillfactor = 70);
comment on table callback_endpoint is 'One circuit breaker per endpoint, shared by all replicas. No row: CLOSED, and never failed.';
comment on column callback_endpoint.generation is 'Grows when the endpoint is set again, so that results of earlier requests do not count.';
comment on column callback_endpoint.openings is 'Consecutive openings without a healthy period in between; the pause before a probe grows with it.';
comment on column callback_endpoint.probe_at is 'OPEN: from this time one delivery may be claimed, by the session that moves this time. During that attempt it is the end of its lease.';
comment on column callback_endpoint.probe_event_id is 'The attempt, by event and number. Only its result closes the circuit.';

-- Sends a callback again on a new schedule, regardless of its outcome. A running attempt keeps its lease. Returns
-- false when the callback never had a delivery.
create function replay_delivery(p_event_id uuid) returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update delivery set state = 'PENDING', schedule_base = attempts, next_attempt_at = now(), finished_at = null
    where event_id = p_event_id;
  return found;
end $$;

-- Makes the pending callbacks of a merchant due when its endpoint has recovered; their schedule and Retry-After
-- applied to a failing endpoint. The attempt does not count against the schedule, so that an unstable endpoint
-- does not use it up. Handles 10,000 callbacks per call; the others keep their time. Claims bound the sending
-- rate.
create function callbacks_due_now(p_merchant_id text) returns void language sql set search_path = public, pg_temp as $$
  update delivery d set next_attempt_at = now(), schedule_base = schedule_base + (attempts > schedule_base)::int
  where event_id = any(array(
      select event_id from delivery
      where merchant_id = p_merchant_id and state = 'PENDING' and attempts > schedule_base and lease_until is null
        and next_attempt_at > now() and next_attempt_at < 'infinity'
      order by next_attempt_at limit 5000 for update skip locked))
    or event_id = any(array(
      select event_id from delivery
      where merchant_id = p_merchant_id and state = 'PENDING' and attempts = schedule_base and lease_until is null
        and next_attempt_at > now() and next_attempt_at < 'infinity'
      order by next_attempt_at limit 5000 for update skip locked))
$$;

-- Resets the failures of a merchant's endpoint: its circuit closes, and pending callbacks are due at once.
create function reset_callback_endpoint(p_merchant_id text) returns void
language sql security definer set search_path = public, pg_temp as $$
  insert into callback_endpoint (merchant_id, generation) values (p_merchant_id, 1)
  on conflict (merchant_id) do update set generation = callback_endpoint.generation + 1, state = 'CLOSED', failures_in_row = 0,
    window_began_at = null, window_attempts = 0, window_failures = 0, openings = 0, opened_at = null, closed_at = null,
    probe_at = null, probe_event_id = null, probe_attempt = null, disabled_at = null, disabled_reason = null, updated_at = now();
  select callbacks_due_now(p_merchant_id)
$$;

-- Setting the callback URL resets the endpoint, also when the URL stays the same.
create function callback_url_was_set() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform reset_callback_endpoint(new.merchant_id);
  return null;
end $$;
create trigger callback_url_set after update of callback_url on merchant for each row execute function callback_url_was_set();

-- True when a delivery blocks newer ones of its order: it is pending and has failed fewer than three attempts. A
-- running attempt is not a failure.
create function delivery_blocks(d delivery) returns boolean language sql immutable as $$
  select d.state = 'PENDING' and d.attempts - d.schedule_base - (d.lease_until is not null)::int < 3
$$;

-- Makes the deliveries due that waited behind this one, up to and including the next one that blocks. None is
-- missed: a session that defers a delivery holds the lock of one that blocks. So it commits before that one
-- changes, or sees the change. The statements here run after the change and see all that was committed before it.
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

-- Makes several callbacks due again by a new schedule, so that those of an order go out in their order. The caller passes a
-- part of a larger selection: callbacks in one of p_states (never PENDING) whose notification occurred at p_since or later
-- and before p_until. Outcome of each:
--   REPLAYED
--   WAITING      it waits already, or is being sent
--   OTHER_STATE  its state is not in p_states
--   NEWER_SENT   a newer one of its order, outside the selection, was sent or is being sent: an older one must not follow it.
--                ORDER_UNMATCHED changes no status: it counts only for its own kind
--   NO_ENDPOINT  its merchant has no callback URL, or a disabled endpoint
-- All deliveries of these orders are locked first, in the order in which ending attempts lock theirs, and each newer one that
-- waits is touched. So a claim of a newer one is either visible here, or finds the row changed.
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
            where newer.subject_id = d.subject_id and newer.sequence > d.sequence
              and (n.notify_type = 'ORDER_UNMATCHED') = (own.notify_type = 'ORDER_UNMATCHED') and (newer.lease_until >= now()
              or newer.state = 'DELIVERED'
                and not ('DELIVERED' = any(p_states) and n.occurred_at >= p_since and n.occurred_at < p_until))
          ) then 'NEWER_SENT'
          else 'REPLAYED' end as verdict
      from delivery d join merchant m on m.merchant_id = d.merchant_id join notification own on own.event_id = d.event_id
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
