/**
 * Ops gives merchants new secrets and reads none, sealed or not: with SECRETS_KEY, which the ops service has to seal with,
 * its role would open those of all merchants. What has to read them to change them, the owner does for it.
 */
export const MERCHANT_SECRETS = `
-- Both secrets sign until the overlap has passed; an overlap that has passed is folded.
-- @returns when it will have passed; null: no such merchant, or one overlap is under way
create or replace function overlap_webhook_secret(p_merchant_id text, p_next_sealed bytea, p_overlap_seconds integer)
returns timestamptz language sql security definer set search_path = public, pg_temp as $$
  update merchant set webhook_secret_sealed = coalesce(webhook_secret_next_sealed, webhook_secret_sealed),
    webhook_secret_next_sealed = p_next_sealed, webhook_secret_switch_at = now() + p_overlap_seconds * interval '1 second',
    updated_at = now()
  where merchant_id = p_merchant_id and coalesce(webhook_secret_switch_at <= now(), true)
  returning webhook_secret_switch_at
$$;

-- @returns false when no overlap is under way
create or replace function finish_webhook_secret(p_merchant_id text) returns boolean
language sql security definer set search_path = public, pg_temp as $$
  with finished as (
    update merchant set webhook_secret_sealed = webhook_secret_next_sealed, webhook_secret_next_sealed = null,
      webhook_secret_switch_at = null, updated_at = now()
    where merchant_id = p_merchant_id and webhook_secret_switch_at > now()
    returning 1
  ) select exists (select from finished)
$$;

revoke all on function overlap_webhook_secret(text, bytea, integer), finish_webhook_secret(text) from public;
grant execute on function overlap_webhook_secret(text, bytea, integer), finish_webhook_secret(text) to opentill_ops;
revoke select on merchant from opentill_ops;
grant select (merchant_id, name, version, sign_version, callback_url, return_origins, order_ttl_seconds,
  underpayment_tolerance_bps, late_grace_seconds, notify_reverted, rate_limits, webhook_secret_switch_at, enabled, created_at,
  updated_at) on merchant to opentill_ops;
`;
