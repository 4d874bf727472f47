import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { readerError } from '@opentill/chain/reader-error';

export interface PostJsonOptions {
  /** From sending to the last byte. */
  readonly timeoutMs: number;
  /** Of the answer, unpacked. */
  readonly bytesMax: number;
  /** Appended to the path of the URL. */
  readonly path?: string;
  /** Goes into errors. */
  readonly context: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal | undefined;
  /** What went over the wire is added here, whatever comes of the exchange; bodies only, the answer as it was packed. */
  readonly traffic?: { requestBytes: number; answerBytes: number };
}

/** A whole HTTP answer, not parsed yet. */
export interface HttpAnswer {
  readonly status: number;
  /** Unpacked. */
  readonly body: Buffer;
  /** What `Retry-After` asks for. */
  readonly retryAfterMs: number | undefined;
  /** Whether it came over a connection that was opened for it: another node may stand at its other end. */
  readonly newConnection: boolean;
}

export type PostJson = (body: unknown, options: PostJsonOptions) => Promise<HttpAnswer>;

const CONNECTIONS_MAX = 16;
const IDLE_CONNECTIONS_MAX = 8;
const TCP_KEEP_ALIVE_MS = 30_000;
/** More kept connections than this are not found closed one after the other within one exchange. */
const RESENDS_MAX = IDLE_CONNECTIONS_MAX;

/**
 * Posts JSON to one URL, and paths below it, over kept connections and reads each answer to its end, within the time and the size given.
 * Redirects are not followed: they would carry requests to a host that nobody configured. The function throws
 * READ_ABORTED, RPC_UNAVAILABLE or RPC_RANGE_TOO_LARGE.
 *
 * node:http and not fetch: it tells new connections from kept ones, and takes half of the processor's time (0.14 ms
 * against 0.31 ms a small call, 0.57 against 0.85 for 130 kB).
 */
export function createPostJson(url: string, headers: Readonly<Record<string, string>> = {}): PostJson {
  const target = new URL(url);
  const secure = target.protocol === 'https:';
  const pool = {
    keepAlive: true,
    keepAliveMsecs: TCP_KEEP_ALIVE_MS,
    maxSockets: CONNECTIONS_MAX,
    maxFreeSockets: IDLE_CONNECTIONS_MAX,
    // The connection used last is the least likely to have been closed by the server, and the same node's.
    scheduling: 'lifo' as const,
  };
  const agent = secure ? new HttpsAgent(pool) : new HttpAgent(pool);
  const send = (path: string | undefined, { headers: own, ...options }: OwnRequest): ClientRequest => {
    const place = path === undefined ? {} : { path: target.pathname.replace(/\/$/, '') + path };
    const all = { ...headers, ...own };
    return (secure ? httpsRequest : httpRequest)(target, { ...options, ...place, headers: all, agent });
  };

  return async (body, options) => {
    const { signal, context, traffic } = options;
    const payload = Buffer.from(JSON.stringify(body));
    const timeout = AbortSignal.timeout(Math.ceil(options.timeoutMs));
    const ended = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    try {
      ended.throwIfAborted();
      for (let resends = 0; ; resends += 1) {
        if (traffic !== undefined) traffic.requestBytes += payload.byteLength;
        try {
          return await exchange((own) => send(options.path, own), payload, { ...options, signal: ended });
        } catch (error) {
          if (!(error instanceof KeptConnectionLost) || resends === RESENDS_MAX || ended.aborted) throw error;
        }
      }
    } catch (cause) {
      if (cause instanceof AnswerTooLong) {
        const why = `the answer is larger than ${options.bytesMax} bytes`;
        throw readerError('RPC_RANGE_TOO_LARGE', why, { ...context, answerTooLong: true });
      }
      if (signal?.aborted === true) throw readerError('READ_ABORTED', 'the read was aborted', context, cause);
      const why = timeout.aborted
        ? `no answer within ${Math.ceil(options.timeoutMs)} ms`
        : 'the node could not be reached or broke off its answer';
      throw readerError('RPC_UNAVAILABLE', why, context, cause);
    }
  };
}

class AnswerTooLong extends Error {}
/** A server may close an idle connection just when a request is sent: nobody has read that request. */
class KeptConnectionLost extends Error {}

/** With headers by name, so that others can be put beside them. */
type OwnRequest = Omit<RequestOptions, 'headers'> & {
  readonly headers: Readonly<Record<string, string | number>>;
};
type BoundExchange = PostJsonOptions & { readonly signal: AbortSignal };

function exchange(
  send: (options: OwnRequest) => ClientRequest,
  payload: Buffer,
  options: BoundExchange,
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
    signal: options.signal,
  });
  let answered = false;
  request.on('error', (error: NodeJS.ErrnoException) => {
    const lost = request.reusedSocket && !answered && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
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
          newConnection: !request.reusedSocket,
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

/** The body; the rest of one that is too long is not downloaded. */
function readBounded(response: IncomingMessage, options: BoundExchange): Promise<Buffer> {
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
  // By events: iterating puts chunks together that were put together anyway, each time it falls behind.
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) reject(new AnswerTooLong());
    else chunks.push(chunk);
  });
  body.on('end', () => resolve(Buffer.concat(chunks, bytes)));
  body.on('error', reject);
  body.on('close', () => reject(new Error('the answer was broken off')));
  return promise;
}

/** Seconds or an HTTP date (RFC 9110 section 10.2.3); a date counts from the answer's own `Date`. */
function retryAfterMsOf({ headers }: IncomingMessage): number | undefined {
  const retryAfter = headers['retry-after'];
  if (retryAfter === undefined) return undefined;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter) * 1_000;
  const waitMs = Date.parse(retryAfter) - Date.parse(headers.date ?? '');
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
}
