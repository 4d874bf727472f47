import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { readerError } from '@opentill/chain/reader-error';
import { noteConnection } from './note-connection.ts';

export interface PostJsonOptions {
  /** From sending to the last byte. */
  readonly timeoutMs: number;
  /** After decompression. */
  readonly bytesMax: number;
  readonly path?: string;
  readonly context: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal | undefined;
  /** Adds up bodies on the wire, the answer as compressed, also of exchanges that fail. */
  readonly traffic?: { requestBytes: number; answerBytes: number };
}

export interface HttpAnswer {
  readonly status: number;
  readonly body: Buffer;
  readonly retryAfterMs: number | undefined;
  readonly newConnection: boolean;
}

export type PostJson = (body: unknown, options: PostJsonOptions) => Promise<HttpAnswer>;

/** Above this number, connections would be closed and reopened, and each costs a check of the chain id. */
const CONNECTIONS_MAX = 16;
const TCP_KEEP_ALIVE_MS = 30_000;
/** At most this many kept connections can turn out to be closed. */
const RESENDS_MAX = CONNECTIONS_MAX;

/**
 * Posts JSON over kept connections. Redirects are not followed: they could lead to a host that is not configured.
 * Throws READ_ABORTED, RPC_UNAVAILABLE or RPC_RANGE_TOO_LARGE.
 *
 * node:http instead of fetch: it distinguishes new connections from kept ones and needs half the CPU time.
 */
export function createPostJson(url: string, headers: Readonly<Record<string, string>> = {}): PostJson {
  const target = new URL(url);
  const secure = target.protocol === 'https:';
  const pool = {
    keepAlive: true,
    keepAliveMsecs: TCP_KEEP_ALIVE_MS,
    maxSockets: CONNECTIONS_MAX,
    maxFreeSockets: CONNECTIONS_MAX,
    // The most recently used connection is the least likely to have been closed, and leads to the same node.
    scheduling: 'lifo' as const,
  };
  const agent = secure ? new HttpsAgent(pool) : new HttpAgent(pool);
  const usedBefore = new WeakSet<Socket>();
  const send = (path: string | undefined, { headers: own, ...options }: OwnRequest): ClientRequest => {
    const place = path === undefined ? {} : { path: target.pathname.replace(/\/$/, '') + path };
    const all = { ...headers, ...own };
    return (secure ? httpsRequest : httpRequest)(target, { ...options, ...place, headers: all, agent });
  };

  return async (body, options) => {
    const { signal, context, traffic } = options;
    const payload = Buffer.from(JSON.stringify(body));
    // By hand: combined AbortSignals cost a twentieth of the time of reading a block.
    const underWay: UnderWay = { request: undefined, endedBy: undefined };
    const end = (reason: 'caller' | 'time'): void => {
      underWay.endedBy ??= reason;
      underWay.request?.destroy(new Error(`ended by the ${reason}`));
    };
    const onAbort = (): void => end('caller');
    const timer = setTimeout(end, Math.ceil(options.timeoutMs), 'time');
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      if (signal?.aborted === true) end('caller');
      for (let resends = 0; ; resends += 1) {
        if (underWay.endedBy !== undefined) throw new Error(`ended by the ${underWay.endedBy}`);
        if (traffic !== undefined) traffic.requestBytes += payload.byteLength;
        try {
          return await exchange(
            { send: (own) => send(options.path, own), usedBefore },
            payload,
            options,
            underWay,
          );
        } catch (error) {
          const isLost = error instanceof KeptConnectionLost && resends < RESENDS_MAX;
          if (!isLost || underWay.endedBy !== undefined) throw error;
        }
      }
    } catch (cause) {
      if (cause instanceof AnswerTooLong) {
        const why = `the answer is larger than ${options.bytesMax} bytes`;
        throw readerError('RPC_RANGE_TOO_LARGE', why, { ...context, answerTooLong: true });
      }
      if (signal?.aborted === true) throw readerError('READ_ABORTED', 'the read was aborted', context, cause);
      const why =
        underWay.endedBy === 'time'
          ? `no answer within ${Math.ceil(options.timeoutMs)} ms`
          : 'the node is unreachable or closed the connection';
      throw readerError('RPC_UNAVAILABLE', why, context, cause);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  };
}

interface UnderWay {
  request: ClientRequest | undefined;
  endedBy: 'caller' | 'time' | undefined;
}

class AnswerTooLong extends Error {}
/** A server may close an idle connection while a request is being sent; then no process has read that request. */
class KeptConnectionLost extends Error {}

type OwnRequest = Omit<RequestOptions, 'headers'> & {
  readonly headers: Readonly<Record<string, string | number>>;
};

interface Wire {
  readonly send: (options: OwnRequest) => ClientRequest;
  readonly usedBefore: WeakSet<Socket>;
}

function exchange(
  { send, usedBefore }: Wire,
  payload: Buffer,
  options: PostJsonOptions,
  underWay: UnderWay,
): Promise<HttpAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
  const request = send({
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': payload.byteLength,
      accept: 'application/json',
      'accept-encoding': 'gzip',
    },
  });
  underWay.request = request;
  let answered = false;
  const isKept = noteConnection(request, usedBefore);
  request.on('error', (error: NodeJS.ErrnoException) => {
    const lost = isKept() && !answered && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
    reject(lost ? new KeptConnectionLost('', { cause: error }) : error);
  });
  request.on('response', (response) => {
    answered = true;
    readBounded(response, options)
      .then((body) =>
        resolve({
          status: response.statusCode ?? 0,
          body,
          retryAfterMs: retryAfterMsOf(response),
          newConnection: !isKept(),
        }),
      )
      .catch((error: unknown) => {
        request.destroy();
        reject(error);
      });
  });
  request.end(payload);
  return promise;
}

function readBounded(response: IncomingMessage, options: PostJsonOptions): Promise<Buffer> {
  const { traffic, bytesMax } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  response.on('data', (chunk: Buffer) => {
    if (traffic !== undefined) traffic.answerBytes += chunk.byteLength;
  });
  const packed = response.headers['content-encoding'] === 'gzip';
  // An error of either stream ends the other.
  const body = packed ? pipeline(response, createGunzip(), () => undefined) : response;
  const chunks: Buffer[] = [];
  let bytes = 0;
  // By events: iterating would concatenate chunks a second time whenever it falls behind.
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) reject(new AnswerTooLong());
    else chunks.push(chunk);
  });
  body.on('end', () => resolve(Buffer.concat(chunks, bytes)));
  body.on('error', reject);
  body.on('close', () => reject(new Error('the connection closed before the end of the answer')));
  return promise;
}

/** Seconds or an HTTP date (RFC 9110 section 10.2.3); a date is relative to the answer's own `Date`. */
function retryAfterMsOf({ headers }: IncomingMessage): number | undefined {
  const retryAfter = headers['retry-after'];
  if (retryAfter === undefined) return undefined;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter) * 1_000;
  const waitMs = Date.parse(retryAfter) - Date.parse(headers.date ?? '');
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}
