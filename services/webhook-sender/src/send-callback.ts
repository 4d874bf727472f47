import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { isIP } from 'node:net';
import { failureOfError, type FailureCode, type OwnFault, type RequestPhase } from './failure-codes.ts';
import type { Connections, OwnedRequest } from './keep-connections.ts';
import type { Endpoint } from './resolve-endpoint.ts';

export type AttemptResult =
  | {
      readonly kind: 'ANSWERED';
      readonly statusCode: number;
      readonly excerpt: string;
      readonly retryAfter?: string;
    }
  | { readonly kind: 'FAILED'; readonly code: FailureCode | OwnFault; readonly error: string }
  | { readonly kind: 'ABANDONED' }
  | { readonly kind: 'INTERRUPTED' };

export interface CallbackRequest {
  readonly endpoint: Endpoint;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For the whole request: connecting, sending, response headers and the part of the body that is read. */
  readonly deadlineMs: number;
  /** Called right before the first byte: connecting may take long, and the process may freeze. */
  readonly maySend?: () => boolean;
  readonly signal?: AbortSignal;
  readonly keep?: { readonly connections: Connections; readonly owner: string };
}

/** Stored for the merchant. The rest of the response body is not read. */
const EXCERPT_BYTES_MAX = 1024;
/** For the body after the status; only the status counts. */
const BODY_WAIT_MS = 500;
const INFORMATION_MAX = 8;
const HEADER_BYTES_MAX = 16_384;

/**
 * No redirects, no decompression, a bounded read, and one deadline for everything. Never rejects. A kept connection
 * that the receiver has closed is replaced once by a new one.
 */
export async function sendCallback(callback: CallbackRequest): Promise<AttemptResult> {
  const endsAt = performance.now() + callback.deadlineMs;
  const result = await post(callback, endsAt);
  if (result.kind !== 'STALE') return result;
  const { keep: _, ...anew } = callback;
  const again = await post(anew, endsAt);
  return again.kind === 'STALE' ? failed('CONNECTION_LOST', again.error) : again;
}

type Stale = { readonly kind: 'STALE'; readonly error: string };

function post(callback: CallbackRequest, endsAt: number): Promise<AttemptResult | Stale> {
  return new Promise((resolve) => {
    const request = openRequest(callback);
    let phase: RequestPhase = 'CONNECTING';
    let answered: (() => void) | undefined; // once set, the status counts and the body does not
    let informed = 0;
    const giveUp = (result: AttemptResult): void => {
      if (answered === undefined) finish(result);
    };
    const timer = setTimeout(
      () => giveUp(late(phase, callback.deadlineMs)),
      Math.max(0, endsAt - performance.now()),
    );
    const interrupt = (): void => giveUp({ kind: 'INTERRUPTED' });
    callback.signal?.addEventListener('abort', interrupt, { once: true });
    const finish = (result: AttemptResult | Stale, complete = false): void => {
      clearTimeout(timer);
      callback.signal?.removeEventListener('abort', interrupt);
      resolve(result);
      if (!complete) request.destroy(); // after a complete response the connection is kept
    };
    const send = (): void => {
      phase = 'WAITING';
      if (callback.maySend?.() === false) finish({ kind: 'ABANDONED' });
      else request.end(callback.body);
    };
    const secure = callback.endpoint.url.protocol === 'https:';
    request.on('socket', (socket) => {
      if (request.reusedSocket) send();
      else socket.once(secure ? 'secureConnect' : 'connect', send);
    });
    request.on('response', (response) => {
      answered = skim(response, finish);
    });
    request.on('information', () => {
      informed += 1;
      if (informed > INFORMATION_MAX) giveUp(failed('BAD_ANSWER', 'too many informational responses'));
    });
    request.on('upgrade', (_response, socket) => {
      socket.destroy();
      giveUp(failed('BAD_ANSWER', 'another protocol instead of a response'));
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (answered !== undefined) return answered();
      const text = error.code === undefined ? error.message : `${error.code}: ${error.message}`;
      const broke = request.reusedSocket && error.code?.startsWith('HPE_') !== true;
      finish(broke ? { kind: 'STALE', error: text } : failed(failureOfError(error.code, phase), text));
    });
    if (callback.signal?.aborted) interrupt();
  });
}

function failed(code: FailureCode | OwnFault, error: string): AttemptResult {
  return { kind: 'FAILED', code, error };
}

function late(phase: RequestPhase, deadlineMs: number): AttemptResult {
  return phase === 'CONNECTING'
    ? failed('CONNECT_TIMEOUT', `no connection within ${deadlineMs} ms`)
    : failed('ANSWER_TIMEOUT', `no answer within ${deadlineMs} ms`);
}

function openRequest({ endpoint, body, headers, keep }: CallbackRequest): ClientRequest {
  const { url, address } = endpoint;
  const secure = url.protocol === 'https:';
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  const options: RequestOptions & Partial<OwnedRequest> = {
    method: 'POST',
    host: address,
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    setHost: false,
    maxHeaderSize: HEADER_BYTES_MAX,
    // The name is for TLS verification and virtual hosts. The connection uses only the address.
    ...(secure && isIP(hostname) === 0 ? { servername: hostname } : {}),
    agent: keep?.connections.agentFor(secure) ?? false,
    ...(keep === undefined ? {} : { connectionOwner: keep.owner }),
    headers: {
      ...headers,
      host: url.host,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'accept-encoding': 'identity',
      'user-agent': 'Opentill-Webhooks/1',
    },
  };
  return (secure ? httpsRequest : httpRequest)(options);
}

/** Returns a function that ends the reading at once. */
function skim(
  response: IncomingMessage,
  finish: (result: AttemptResult, complete?: boolean) => void,
): () => void {
  const chunks: Buffer[] = [];
  let length = 0;
  const answered = (complete = false): void => {
    clearTimeout(timer);
    const excerpt = Buffer.concat(chunks).subarray(0, EXCERPT_BYTES_MAX).toString('latin1');
    const retryAfter = response.headers['retry-after'];
    finish(
      {
        kind: 'ANSWERED',
        statusCode: response.statusCode ?? 0,
        excerpt,
        ...(retryAfter === undefined ? {} : { retryAfter }),
      },
      complete,
    );
  };
  const timer = setTimeout(() => answered(), BODY_WAIT_MS);
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk.subarray(0, EXCERPT_BYTES_MAX - length));
    length += chunk.length;
    if (length >= EXCERPT_BYTES_MAX) answered();
  });
  response.on('end', () => answered(true));
  response.on('error', () => answered());
  return answered;
}
