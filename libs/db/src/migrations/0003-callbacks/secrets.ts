/** A webhook secret with its successor. */
export const SECRETS = `
alter table merchant
  add column webhook_secret_next_sealed bytea,
  add column webhook_secret_switch_at timestamptz,
  add constraint merchant_webhook_secret_next check ((webhook_secret_next_sealed is null) = (webhook_secret_switch_at is null));
comment on column merchant.webhook_secret_switch_at is 'Until then callbacks carry signatures of both secrets; from then on the next one is the secret. No job is needed, and none runs.';

grant select (webhook_secret_next_sealed, webhook_secret_switch_at) on merchant to opentill_webhook;
`;
