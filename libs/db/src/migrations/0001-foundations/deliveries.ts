/** Callbacks on their way. */
export const DELIVERIES = `
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
-- First attempts and retries apart, so that a merchant's backlog of the one is never read to find the other.
create index delivery_due_first on delivery (merchant_id, next_attempt_at) where state = 'PENDING' and attempts = schedule_base;
create index delivery_due_again on delivery (merchant_id, next_attempt_at) where state = 'PENDING' and attempts > schedule_base;
create index delivery_under_way on delivery (merchant_id) where lease_until is not null;

create table delivery_attempt ( -- writer: webhook-sender
  event_id uuid not null references delivery,
  attempt integer not null,
  started_at timestamptz not null,
  duration_ms integer not null,
  status_code integer,
  error text,
  response_excerpt text,
  primary key (event_id, attempt)
);

-- Lets an operator send a callback again, whatever became of it, by a new schedule. An attempt under way keeps its
-- lease. False when it was never due for delivery.
create function replay_delivery(p_event_id uuid) returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update delivery set state = 'PENDING', schedule_base = attempts, next_attempt_at = now(), finished_at = null
    where event_id = p_event_id;
  return found;
end $$;
`;
