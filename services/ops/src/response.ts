import type { ServerResponse } from 'node:http';
import { OPS_ERRORS, type OpsErrorCode } from '@opentill/contracts/ops/errors';
import { isDatabaseUnavailable } from '@opentill/db/database';
import { GatewayError } from '@opentill/domain/gateway-error';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ErrorBody {
  readonly code: OpsErrorCode;
  readonly message: string;
  /** Only with TOO_MANY_REQUESTS. */
  readonly retryAfterSeconds?: number;
}

function isOpsCode(code: string): code is OpsErrorCode {
  return Object.hasOwn(OPS_ERRORS, code);
}

/** Keys: codes of the libraries. Values: codes that clients see. */
const FOREIGN_CODES: Readonly<Record<string, OpsErrorCode>> = {
  MERCHANT_NOT_FOUND: 'NOT_FOUND',
  SECRET_CHANGE_UNDER_WAY: 'STATE_CONFLICT',
  NO_SECRET_CHANGE: 'STATE_CONFLICT',
  TOP_UP_INVALID: 'UNPROCESSABLE',
  TOP_UP_DIFFERS: 'STATE_CONFLICT',
  TOP_UP_NOT_COVERED: 'UNPROCESSABLE',
};

/** Other errors become INTERNAL and reveal no cause. */
export function toErrorBody(error: unknown): ErrorBody {
  if (!(error instanceof GatewayError)) return INTERNAL;
  const { code, message } = error as GatewayError;
  if (isDatabaseUnavailable(error) || code === 'DATABASE_CONFLICT') {
    return {
      code: 'UNAVAILABLE',
      message: 'The database does not answer at present. Try again in a moment.',
    };
  }
  const known = isOpsCode(code) ? code : FOREIGN_CODES[code];
  if (known === undefined) return INTERNAL;
  const seconds = error.context['retryAfterSeconds'];
  return {
    code: known,
    message: toSentence(message),
    ...(typeof seconds === 'number' && { retryAfterSeconds: seconds }),
  };
}

const INTERNAL: ErrorBody = {
  code: 'INTERNAL',
  message: 'Internal error. The log has the details under this requestId.',
};

function toSentence(message: string): string {
  const capitalised = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(capitalised) ? capitalised : `${capitalised}.`;
}

export function errorResponse({ code, message, retryAfterSeconds }: ErrorBody, requestId: string): Answer {
  return {
    status: OPS_ERRORS[code],
    body: { error: { code, message, requestId } },
    ...(retryAfterSeconds !== undefined && { headers: { 'Retry-After': String(retryAfterSeconds) } }),
  };
}

export function send(response: ServerResponse, answer: Answer): void {
  if (response.headersSent || response.destroyed) return;
  const body = JSON.stringify(answer.body);
  response.statusCode = answer.status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(body));
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
  response.end(body);
}
