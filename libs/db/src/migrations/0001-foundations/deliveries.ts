/** Callbacks on their way. */
export const DELIVERIES = `
create table delivery ( -- writer: webhook-sender
  event_id uuid primary key references notification,
  merchant_id text not null references merchant,
  subject_id uuid not null,
  sequence integer not null,
  state text not null default 'PENDING' check (state in ('PENDING', 'DELIVERED', 'SUPERSEDED', 'DEAD')),
  attempts integer not null default 0,
  next_attempt_at timestamptz not null,
  lease_until timestamptz,
  lease_holder text,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  unique (subject_id, sequence)
);
create index delivery_due on delivery (merchant_id, next_attempt_at) where state = 'PENDING';

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

-- Lets an operator send a callback again, whatever became of it. False when it was never due for delivery.
create function replay_delivery(p_event_id uuid) returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update delivery set state = 'PENDING', next_attempt_at = now(), lease_until = null, lease_holder = null, finished_at = null
    where event_id = p_event_id;
  return found;
end $$;
`;
