import type { ApiErrorCode } from '@opentill/contracts/http/api-errors';

/** Reason of a rejection. `detail` names field, problem and allowed values; undefined where `msg` says all. */
export interface Problem {
  readonly code: ApiErrorCode;
  readonly detail?: string | undefined;
}
