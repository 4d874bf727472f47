import type { ServerResponse } from 'node:http';
import { OPS_ERRORS, type OpsErrorCode } from '@opentill/contracts/ops/errors';
import { isDatabaseUnavailable } from '@opentill/db/database';
import { GatewayError } from '@opentill/domain/gateway-error';

/** What a request is answered with: a status and what becomes its JSON. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal as it goes over the wire. */
export interface Refusal {
  readonly code: OpsErrorCode;
  readonly message: string;
  /** Of TOO_MANY_REQUESTS. */
  readonly retryAfterSeconds?: number;
}

function isOpsCode(code: string): code is OpsErrorCode {
  return Object.hasOwn(OPS_ERRORS, code);
}

/** Codes of the libraries that operations call, and what they are here. */
const FOREIGN_CODES: Readonly<Record<string, OpsErrorCode>> = {
  MERCHANT_NOT_FOUND: 'NOT_FOUND',
  SECRET_CHANGE_UNDER_WAY: 'STATE_CONFLICT',
  NO_SECRET_CHANGE: 'STATE_CONFLICT',
  TOP_UP_INVALID: 'UNPROCESSABLE',
  TOP_UP_DIFFERS: 'STATE_CONFLICT',
  TOP_UP_NOT_COVERED: 'UNPROCESSABLE',
};

/** The one table from errors to refusals. What is not in it is INTERNAL and says nothing of its cause. */
export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof GatewayError)) return INTERNAL;
  const { code, message } = error as GatewayError;
  if (isDatabaseUnavailable(error) || code === 'DATABASE_CONFLICT') {
    return { code: 'UNAVAILABLE', message: 'The database does not answer now; ask again in a moment.' };
  }
  const known = isOpsCode(code) ? code : FOREIGN_CODES[code];
  if (known === undefined) return INTERNAL;
  const seconds = error.context['retryAfterSeconds'];
  return {
    code: known,
    message: sentence(message),
    ...(typeof seconds === 'number' && { retryAfterSeconds: seconds }),
  };
}

const INTERNAL: Refusal = {
  code: 'INTERNAL',
  message: 'Something is wrong inside; the log has it under this requestId.',
};

function sentence(message: string): string {
  const begun = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

export function refusalAnswer({ code, message, retryAfterSeconds }: Refusal, requestId: string): Answer {
  return {
    status: OPS_ERRORS[code],
    body: { error: { code, message, requestId } },
    ...(retryAfterSeconds !== undefined && { headers: { 'Retry-After': String(retryAfterSeconds) } }),
  };
}

/** Writes the answer out. Does nothing when the client has gone. */
export function send(response: ServerResponse, answer: Answer): void {
  if (response.headersSent || response.destroyed) return;
  const body = JSON.stringify(answer.body);
  response.statusCode = answer.status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(body));
  for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
  response.end(body);
}
