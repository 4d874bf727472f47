/** The health of merchants' endpoints: one row for each that ever failed. */
export const ENDPOINTS = `
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
comment on table callback_endpoint is 'A circuit breaker each, shared by all replicas. No row: CLOSED, and never failed.';
comment on column callback_endpoint.generation is 'Grows when the endpoint is set anew: what was sent before says nothing about it.';
comment on column callback_endpoint.probe_at is 'Of an open one: from here on one delivery may be claimed, by whoever moves this on. While that attempt is under way it is the end of its lease.';
comment on column callback_endpoint.probe_event_id is 'The attempt, by event and number, that alone decides whether it closes.';
comment on column callback_endpoint.openings is 'In a row, without a time of health in between: the pause before a probe grows with it.';

alter table delivery_attempt add column error_code text;
comment on column delivery_attempt.error_code is 'What went wrong, of few kinds; null when nothing did, or in rows older than this column.';

-- Makes what waits for a merchant's endpoint due, which is well: not when the schedule, or a Retry-After, has it, which were
-- meant for an endpoint that is not. The attempt comes on top of the schedule, so that an endpoint that falls and recovers
-- by turns uses up none. 10,000 at a time; what is beyond waits for its own time. Claims bound how fast they go out.
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
grant execute on function callbacks_due_now(text) to opentill_webhook;

-- Forgets what is known against a merchant's endpoint: it is closed, and sent to again, at once.
create function reset_callback_endpoint(p_merchant_id text) returns void
language sql security definer set search_path = public, pg_temp as $$
  insert into callback_endpoint (merchant_id, generation) values (p_merchant_id, 1)
  on conflict (merchant_id) do update set generation = callback_endpoint.generation + 1, state = 'CLOSED', failures_in_row = 0,
    window_began_at = null, window_attempts = 0, window_failures = 0, openings = 0, opened_at = null, closed_at = null,
    probe_at = null, probe_event_id = null, probe_attempt = null, disabled_at = null, disabled_reason = null, updated_at = now();
  select callbacks_due_now(p_merchant_id)
$$;

-- Whoever sets the callback URL, and by whatever way, means the endpoint to be used, also if it is the same one again.
create function callback_url_was_set() returns trigger
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform reset_callback_endpoint(new.merchant_id);
  return null;
end $$;
create trigger callback_url_set after update of callback_url on merchant for each row execute function callback_url_was_set();

grant select, insert, update on callback_endpoint to opentill_webhook;
grant select on callback_endpoint to opentill_ops;
grant execute on function reset_callback_endpoint(text) to opentill_ops;
`;
