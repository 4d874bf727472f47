import type { ServerResponse } from 'node:http';
import { API_ERRORS, DETAIL_CHARACTERS_MAX, type ApiErrorCode } from '@opentill/contracts/http/api-errors';
import { isDatabaseUnavailable } from '@opentill/db/database';
import { GatewayError } from '@opentill/domain/gateway-error';

export interface Answer {
  readonly status: number;
  readonly body: string | Buffer;
  /** @default JSON */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Writes the rest of the response after the headers, instead of `body`, and ends it. */
  readonly stream?: (response: ServerResponse) => void;
}

const NOT_MODIFIED = 304;
const JSON_TYPE = 'application/json; charset=utf-8';

export function success(data: unknown): Answer {
  return { status: 200, body: envelope(200, 'success', data) };
}

/** An undefined `detail` is left out. */
function envelope(code: number, msg: string, data: unknown, detail?: string): string {
  return JSON.stringify({ code, msg, data, detail });
}

const REFUSALS = Object.fromEntries(
  Object.entries(API_ERRORS).map(([code, { status, msg }]) => [
    code,
    { status, body: envelope(status, msg, null) },
  ]),
) as unknown as Readonly<Record<ApiErrorCode, Answer>>;

/** Response for an error code. Without a detail it is always the same object. */
export function refusal(code: ApiErrorCode, detail?: string): Answer {
  if (detail === undefined) return REFUSALS[code];
  const { status, msg } = API_ERRORS[code];
  return refusalWithText(status, msg, detail);
}

/** @param detail cut to the length that the OpenAPI document promises */
export function refusalWithText(status: number, msg: string, detail?: string): Answer {
  return { status, body: envelope(status, msg, null, detail?.slice(0, DETAIL_CHARACTERS_MAX)) };
}

export function tooManyRequests(
  retryAfterSeconds: number,
  code: 'TOO_MANY_REQUESTS' | 'MERCHANT_UNNAMED' = 'TOO_MANY_REQUESTS',
): Answer {
  return { ...REFUSALS[code], headers: { 'Retry-After': String(retryAfterSeconds) } };
}

/** Leads a browser from a form that it has sent to a page. */
export function seeOther(location: string): Answer {
  return { status: 303, body: '', contentType: 'text/plain; charset=utf-8', headers: { Location: location } };
}

/** HTML page. `contentSecurityPolicy` lists what it may load and run. */
export function page(status: number, html: string, contentSecurityPolicy: string): Answer {
  return {
    status,
    body: html,
    contentType: 'text/html; charset=utf-8',
    headers: { 'Content-Security-Policy': contentSecurityPolicy },
  };
}

/**
 * Maps an error to its response code. Unknown errors become 500 without a cause. An unreachable or exhausted database
 * becomes 503, as does a conflict that outlived its retries.
 */
export function refusalOf(error: unknown): ApiErrorCode {
  if (!(error instanceof GatewayError)) return 'INTERNAL';
  if (isDatabaseUnavailable(error) || error.code === 'DATABASE_CONFLICT') return 'SERVICE_UNAVAILABLE';
  switch (error.code) {
    case 'BODY_NOT_JSON':
      return 'BODY_NOT_JSON';
    case 'DEPOSIT_ADDRESSES_EXHAUSTED':
      return 'SERVICE_UNAVAILABLE';
    default:
      return 'INTERNAL';
  }
}

/** Sends the response. Ignores a disconnected client. */
export function send(response: ServerResponse, answer: Answer): void {
  if (response.headersSent || response.destroyed) return;
  response.statusCode = answer.status;
  response.setHeader('Content-Type', answer.contentType ?? JSON_TYPE);
  if (answer.stream === undefined && answer.status !== NOT_MODIFIED)
    response.setHeader('Content-Length', Buffer.byteLength(answer.body));
  if (answer.headers !== undefined) {
    for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value);
  }
  if (answer.stream === undefined) {
    response.end(answer.body);
    return;
  }
  response.flushHeaders();
  answer.stream(response);
}
