import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import type { Endpoint } from './resolve-endpoint.ts';

/** What became of one attempt. */
export type AttemptResult =
  | { readonly kind: 'ANSWERED'; readonly statusCode: number; readonly excerpt: string }
  | { readonly kind: 'FAILED'; readonly error: string };

export interface CallbackRequest {
  readonly endpoint: Endpoint;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For the whole request: connecting, sending, the answer's headers and as much of its body as is read. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal;
}

/** Bytes of the answer that are kept for the merchant to see; nothing beyond is read. */
export const EXCERPT_BYTES_MAX = 1024;
/** How long a body may trickle once the status is known; the status is what counts. */
const BODY_WAIT_MS = 500;

/**
 * Posts a callback to exactly the given address: no redirects, no decoding, a bounded read of the answer, one deadline
 * for everything. Never rejects; a status is reported as soon as it is known and the body was skimmed.
 */
export function sendCallback(callback: CallbackRequest): Promise<AttemptResult> {
  return new Promise((resolve) => {
    const request = openRequest(callback);
    const timer = setTimeout(
      () => request.destroy(new Error(`no answer within ${callback.deadlineMs} ms`)),
      callback.deadlineMs,
    );
    const onAbort = (): void => void request.destroy(new Error('the sender is stopping'));
    callback.signal?.addEventListener('abort', onAbort, { once: true });
    const finish = (result: AttemptResult): void => {
      clearTimeout(timer);
      callback.signal?.removeEventListener('abort', onAbort);
      resolve(result);
      request.destroy();
    };
    request.on('response', (response) => skim(response, finish));
    request.on('error', (error: NodeJS.ErrnoException) =>
      finish({
        kind: 'FAILED',
        error: error.code === undefined ? error.message : `${error.code}: ${error.message}`,
      }),
    );
    if (callback.signal?.aborted) onAbort();
    request.end(callback.body);
  });
}

function openRequest({ endpoint, body, headers }: CallbackRequest): ClientRequest {
  const { url, address } = endpoint;
  const secure = url.protocol === 'https:';
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  return (secure ? httpsRequest : httpRequest)({
    method: 'POST',
    host: address,
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    setHost: false,
    // The name is what TLS verifies and what a virtual host needs; the address alone is what is connected to.
    ...(secure && isIP(hostname) === 0 ? { servername: hostname } : {}),
    agent: false,
    headers: {
      ...headers,
      host: url.host,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'accept-encoding': 'identity',
      'user-agent': 'Opentill-Webhooks/1',
    },
  });
}

function skim(response: IncomingMessage, finish: (result: AttemptResult) => void): void {
  const chunks: Buffer[] = [];
  let length = 0;
  const answered = (): void => {
    clearTimeout(timer);
    const excerpt = Buffer.concat(chunks).subarray(0, EXCERPT_BYTES_MAX).toString('latin1');
    finish({ kind: 'ANSWERED', statusCode: response.statusCode ?? 0, excerpt });
  };
  const timer = setTimeout(answered, BODY_WAIT_MS);
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk.subarray(0, EXCERPT_BYTES_MAX - length));
    length += chunk.length;
    if (length >= EXCERPT_BYTES_MAX) answered();
  });
  response.on('end', answered);
  response.on('error', answered);
}
