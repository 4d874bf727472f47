import type { Generated, GeneratedAlways, JSONColumnType } from 'kysely';

/** Few writers set it. */
type Defaulted<T> = Generated<T>;
type Nullable<T> = T | null;
type Jsonb<T extends object> = JSONColumnType<T, string | undefined, string>;

export type LogoType = 'image/svg+xml' | 'image/png';

export interface MerchantTable {
  merchant_id: string;
  name: string;
  version: 'V2' | 'V3';
  sign_version: Defaulted<1 | 2>;
  token_sealed: Buffer;
  webhook_secret_sealed: Buffer;
  webhook_secret_next_sealed: Nullable<Buffer>;
  webhook_secret_switch_at: Nullable<Date>;
  callback_url: Nullable<string>;
  return_origins: Defaulted<string[]>;
  order_ttl_seconds: Defaulted<number>;
  underpayment_tolerance_bps: Defaulted<number>;
  late_grace_seconds: Defaulted<number>;
  markup_bps: Defaulted<number>;
  notify_reverted: Defaulted<boolean>;
  notify_unmatched: Defaulted<boolean>;
  logo: Nullable<Buffer>;
  logo_type: Nullable<LogoType>;
  logo_hash: GeneratedAlways<string | null>;
  accent_color: Nullable<string>;
  support_url: Nullable<string>;
  support_email: Nullable<string>;
  shop_url: Nullable<string>;
  rate_limits: Jsonb<Record<string, unknown>>;
  enabled: Defaulted<boolean>;
  created_at: Defaulted<Date>;
  updated_at: Defaulted<Date>;
}

export interface RequestNonceTable {
  merchant_id: string;
  nonce: string;
  expires_at: Date;
}

export interface RateCounterTable {
  key: string;
  points: Defaulted<number>;
  expire: Nullable<number>;
  recent: Defaulted<number[]>;
}
