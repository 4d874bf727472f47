/** "Outcome unknown": the order may exist; repeat the call with the same order id. */
export type OpentillErrorCode =
  /**
   * 400, 405, 413, 415, and every 4xx without its own code: `detail` explains the correction. The same request fails again.
   */
  | 'INVALID_REQUEST'
  /** 401: token, clock or nonce; the message says which. A wrong token and an unknown merchant get the same message. */
  | 'UNAUTHORIZED'
  /** 404: no such order or endpoint. */
  | 'NOT_FOUND'
  /** 409: another order with this id has other fields. */
  | 'CONFLICT'
  /** 422: not possible now, for example `Insufficient balance`. */
  | 'UNPROCESSABLE'
  /** 429, after all retries. */
  | 'RATE_LIMITED'
  /** 503: temporarily unavailable; the request had no effect. */
  | 'UNAVAILABLE'
  /** 408, 5xx or another status: a fault of the gateway or of a proxy in front of it. Outcome unknown. */
  | 'SERVER_FAULT'
  /** Connection refused or reset, or timeout. Outcome unknown. */
  | 'NO_ANSWER'
  /** Not the gateway's envelope: the URL is wrong, or a proxy changed the response. */
  | 'UNREADABLE_ANSWER'
  /** The caller's signal aborted the call. Outcome unknown. */
  | 'ABORTED';

export interface OpentillErrorDetails {
  /** The gateway's text for the error, which is part of its contract. */
  readonly msg?: string | undefined;
  /** What to correct: field, problem, allowed values. For people: the text may change. */
  readonly detail?: string | undefined;
  readonly httpStatus?: number | undefined;
  /** `X-Request-Id`, by which the gateway's operator finds the request in the log. */
  readonly requestId?: string | undefined;
  /** From `Retry-After`. */
  readonly retryAfterMs?: number | undefined;
  readonly attempts: number;
  readonly cause?: unknown;
}

/** With an answer of the gateway, `message` is its `msg`. `toString` and `console.log` show `detail` as well. */
export class OpentillError extends Error {
  override readonly name = 'OpentillError';
  readonly code: OpentillErrorCode;
  readonly msg: string | undefined;
  readonly detail: string | undefined;
  readonly httpStatus: number | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly attempts: number;

  constructor(code: OpentillErrorCode, message: string, details: OpentillErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.msg = details.msg;
    this.detail = details.detail;
    this.httpStatus = details.httpStatus;
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
    this.attempts = details.attempts;
  }

  override toString(): string {
    const text = super.toString();
    return this.detail === undefined ? text : `${text} (${this.detail})`;
  }

  /** The same call may succeed later without a change. */
  get isRetryable(): boolean {
    return PASSING.has(this.code);
  }
}

const PASSING: ReadonlySet<OpentillErrorCode> = new Set<OpentillErrorCode>([
  'RATE_LIMITED',
  'UNAVAILABLE',
  'SERVER_FAULT',
  'NO_ANSWER',
]);

export function errorCodeOf(httpStatus: number): OpentillErrorCode {
  switch (httpStatus) {
    case 401:
      return 'UNAUTHORIZED';
    case 404:
      return 'NOT_FOUND';
    case 409:
      return 'CONFLICT';
    case 422:
      return 'UNPROCESSABLE';
    case 429:
      return 'RATE_LIMITED';
    case 503:
      return 'UNAVAILABLE';
    case 408: // the request did not arrive completely in time
      return 'SERVER_FAULT';
    default:
      return httpStatus >= 400 && httpStatus < 500 ? 'INVALID_REQUEST' : 'SERVER_FAULT';
  }
}
