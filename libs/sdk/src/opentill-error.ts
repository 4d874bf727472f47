/** Why a call of the gateway did not succeed. */
export type OpentillErrorCode =
  /**
   * 400, 405, 413, 415: a field is missing or wrong; the message says which. Also every other 4xx that has no code of
   * its own here. Asking again the same way helps nothing.
   */
  | 'INVALID_REQUEST'
  /** 401: token, clock or nonce. The message says which; a wrong token and an unknown merchant look the same. */
  | 'UNAUTHORIZED'
  /** 404: no such order, or no such endpoint. */
  | 'NOT_FOUND'
  /** 409: the order id is taken by an order with other fields. */
  | 'CONFLICT'
  /** 422: not possible now, `Insufficient balance` for example. */
  | 'UNPROCESSABLE'
  /** 429, also after all retries. */
  | 'RATE_LIMITED'
  /** 503: nothing was done; it will come back. */
  | 'UNAVAILABLE'
  /** 408, 5xx, or another status: the gateway's fault, or that of something before it. What was asked for may have been done. */
  | 'SERVER_FAULT'
  /** Refused, reset, or nothing in time. What was asked for may have been done: ask again under the same order id. */
  | 'NO_ANSWER'
  /** Not the gateway's envelope: the URL leads elsewhere, or something between changed the answer. */
  | 'UNREADABLE_ANSWER'
  /** The signal of the caller ended it. What was asked for may have been done. */
  | 'ABORTED';

export interface OpentillErrorDetails {
  /** Undefined when there was no answer. */
  readonly httpStatus?: number | undefined;
  /** `X-Request-Id` of the answer: what the gateway's operator finds in the log. */
  readonly requestId?: string | undefined;
  /** What the gateway asks to wait. */
  readonly retryAfterMs?: number | undefined;
  /** Requests that were sent for this call. */
  readonly attempts: number;
  readonly cause?: unknown;
}

/** Thrown by every call that did not succeed; `message` is the gateway's own. */
export class OpentillError extends Error {
  override readonly name = 'OpentillError';
  readonly code: OpentillErrorCode;
  readonly httpStatus: number | undefined;
  readonly requestId: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly attempts: number;

  constructor(code: OpentillErrorCode, message: string, details: OpentillErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.httpStatus = details.httpStatus;
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
    this.attempts = details.attempts;
  }

  /** Whether the same call may succeed later without anything being mended. */
  get isPassing(): boolean {
    return PASSING.has(this.code);
  }
}

const PASSING: ReadonlySet<OpentillErrorCode> = new Set<OpentillErrorCode>([
  'RATE_LIMITED',
  'UNAVAILABLE',
  'SERVER_FAULT',
  'NO_ANSWER',
]);

/** The code of an HTTP status that is no success. */
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
    case 408: // it did not hear the whole request in time
      return 'SERVER_FAULT';
    default:
      return httpStatus >= 400 && httpStatus < 500 ? 'INVALID_REQUEST' : 'SERVER_FAULT';
  }
}
