-- Merchants, their nonces and rate counters; operators and their audit log.

create table merchant ( -- writer: ops
  merchant_id text primary key check (merchant_id ~ '^[A-Za-z0-9_-]{1,64}$'),
  name text not null,
  version text not null check (version in ('V2', 'V3')),
  sign_version smallint not null default 1 check (sign_version in (1, 2)),
  token_sealed bytea not null,
  webhook_secret_sealed bytea not null,
  callback_url text,
  return_origins text[] not null default '{}',
  order_ttl_seconds integer not null default 1800 check (order_ttl_seconds between 60 and 86400),
  underpayment_tolerance_bps integer not null default 0 check (underpayment_tolerance_bps between 0 and 10000),
  late_grace_seconds integer not null default 0 check (late_grace_seconds between 0 and 604800),
  notify_reverted boolean not null default false,
  notify_unmatched boolean not null default false,
  logo bytea check (octet_length(logo) between 1 and 65536),
  logo_type text check (logo_type in ('image/svg+xml', 'image/png')),
  logo_hash text generated always as (encode(sha256(logo), 'hex')) stored,
  accent_color text check (accent_color ~ '^#[0-9a-f]{6}$'),
  support_url text check (support_url ~ '^https?://' and length(support_url) <= 2048),
  support_email text check (length(support_email) <= 254),
  shop_url text check (shop_url ~ '^https?://' and length(shop_url) <= 2048),
  rate_limits jsonb not null default '{}',
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  webhook_secret_next_sealed bytea,
  webhook_secret_switch_at timestamptz,
  constraint merchant_logo_type check ((logo is null) = (logo_type is null)),
  constraint merchant_webhook_secret_next check ((webhook_secret_next_sealed is null) = (webhook_secret_switch_at is null))
);
comment on column merchant.logo is 'Shown on the checkout page; served by the api. The ops service checks it before it is stored.';
comment on column merchant.webhook_secret_switch_at is 'Before this time callbacks carry signatures of both secrets; afterwards only the next secret is valid. No job is involved.';
create index merchant_updated_at on merchant (updated_at);

create table request_nonce ( -- writer: api
  merchant_id text not null references merchant,
  nonce text not null check (length(nonce) between 1 and 128),
  expires_at timestamptz not null,
  primary key (merchant_id, nonce)
);
create index request_nonce_expires_at on request_nonce (expires_at);

create unlogged table rate_counter ( -- writer: api. A crash of Postgres empties it, which restarts the windows
  key text primary key,
  points integer not null default 0,
  expire bigint,
  recent bigint[] not null default '{}'
);
comment on column rate_counter.recent is 'Times of the requests of the last window, in ms, for limits with a sliding window.';

-- The ops service seals secrets with SECRETS_KEY and could open sealed ones, so its role may write but not read
-- them. These two functions read them instead.

-- Starts an overlap in which both secrets sign, after completing an overlap that has ended. Returns its end. Null:
-- the merchant does not exist, or an overlap is running.
create function overlap_webhook_secret(p_merchant_id text, p_next_sealed bytea, p_overlap_seconds integer)
returns timestamptz language sql security definer set search_path = public, pg_temp as $$
  update merchant set webhook_secret_sealed = coalesce(webhook_secret_next_sealed, webhook_secret_sealed),
    webhook_secret_next_sealed = p_next_sealed, webhook_secret_switch_at = now() + p_overlap_seconds * interval '1 second',
    updated_at = now()
  where merchant_id = p_merchant_id and coalesce(webhook_secret_switch_at <= now(), true)
  returning webhook_secret_switch_at
$$;

-- Returns false when no overlap is running.
create function finish_webhook_secret(p_merchant_id text) returns boolean
language sql security definer set search_path = public, pg_temp as $$
  with finished as (
    update merchant set webhook_secret_sealed = webhook_secret_next_sealed, webhook_secret_next_sealed = null,
      webhook_secret_switch_at = null, updated_at = now()
    where merchant_id = p_merchant_id and webhook_secret_switch_at > now()
    returning 1
  ) select exists (select from finished)
$$;

create function refuse_removal() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % are permanent', tg_table_name using errcode = 'integrity_constraint_violation';
end $$;

create table operator ( -- writer: ops
  operator_id text primary key check (operator_id ~ '^[a-z0-9][a-z0-9_-]{0,31}$'),
  name text not null,
  role text not null check (role in ('VIEWER', 'SUPPORT', 'FINANCE', 'ADMIN')),
  token_hash bytea not null unique,
  created_at timestamptz not null default now(),
  disabled_at timestamptz
);

create table audit_entry ( -- writer: ops; append-only
  entry_id bigint generated always as identity primary key,
  operator text not null,
  action text not null,
  subject text,
  outcome text not null check (outcome in ('DONE', 'REFUSED')),
  details jsonb not null default '{}',
  request_id text,
  at timestamptz not null default now()
);
create index audit_entry_operator on audit_entry (operator, entry_id);
create index audit_entry_subject on audit_entry (subject, entry_id) where subject is not null;
create trigger audit_entry_kept before update or delete on audit_entry for each row execute function refuse_removal();
create trigger audit_entry_not_emptied before truncate on audit_entry execute function refuse_removal();
