import type { Generated } from 'kysely';

type Defaulted<T> = Generated<T>;
type Nullable<T> = T | null;

export interface DeliveryTable {
  event_id: string;
  merchant_id: string;
  subject_id: string;
  sequence: number;
  state: Defaulted<'PENDING' | 'DELIVERED' | 'SUPERSEDED' | 'DEAD'>;
  attempts: Defaulted<number>;
  schedule_base: Defaulted<number>;
  next_attempt_at: Date;
  lease_until: Nullable<Date>;
  lease_holder: Nullable<string>;
  created_at: Defaulted<Date>;
  finished_at: Nullable<Date>;
}

export interface DeliveryAttemptTable {
  event_id: string;
  attempt: number;
  started_at: Date;
  duration_ms: number;
  status_code: Nullable<number>;
  error_code: Nullable<string>;
  error: Nullable<string>;
  response_excerpt: Nullable<string>;
}

export interface CallbackEndpointTable {
  merchant_id: string;
  generation: Defaulted<number>;
  state: Defaulted<'CLOSED' | 'OPEN' | 'DISABLED'>;
  failures_in_row: Defaulted<number>;
  window_began_at: Nullable<Date>;
  window_attempts: Defaulted<number>;
  window_failures: Defaulted<number>;
  openings: Defaulted<number>;
  opened_at: Nullable<Date>;
  closed_at: Nullable<Date>;
  probe_at: Nullable<Date>;
  probe_event_id: Nullable<string>;
  probe_attempt: Nullable<number>;
  disabled_at: Nullable<Date>;
  disabled_reason: Nullable<string>;
  last_failed_at: Nullable<Date>;
  last_error_code: Nullable<string>;
  last_error: Nullable<string>;
  updated_at: Defaulted<Date>;
}
