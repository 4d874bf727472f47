import { noteConnection } from '@opentill/chain-sources/note-connection';
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { ACCEPTED_ENCODING, unpackFrames } from './unpack-frames.ts';

/** Measured during the exchanges of one call, also of one that fails. */
export interface Traffic {
  /** Body sizes on the wire. */
  requestBytes: number;
  answerBytes: number;
  /** `<service>/<method>` of the last request. */
  method: string;
  status: number | undefined;
  /** At least one request opened a connection, which may lead to another node behind the URL. */
  newConnection: boolean;
  /** From the response headers. */
  chainId: string | undefined;
  retryAfterMs: number | undefined;
}

export interface PostLimits {
  /** Limit of the answer; for a subscription, of the bytes between two frames (see `frameRead`). */
  readonly bytesMax: number;
}

export interface PostGrpc {
  readonly fetch: typeof fetch;
  readonly traffic: Traffic;
  frameRead(): void;
}

export type OpenPostGrpc = (limits: PostLimits) => PostGrpc;

const CONNECTIONS_MAX = 16;
const IDLE_CONNECTIONS_MAX = 8;
const TCP_KEEP_ALIVE_MS = 30_000;
/** There are no more idle connections that may turn out to be closed. */
const RESENDS_MAX = IDLE_CONNECTIONS_MAX;
const SERVICE_AND_METHOD = /([^/.]+\/[^/]+)$/;

/**
 * Posts gRPC-web requests to one node. Unlike the global fetch, it recognises new connections, counts and limits bytes,
 * follows no redirect, and resends a request that was lost on a connection closed while idle.
 */
export function createPostGrpc(secure: boolean): OpenPostGrpc {
  const pool = {
    keepAlive: true,
    keepAliveMsecs: TCP_KEEP_ALIVE_MS,
    maxSockets: CONNECTIONS_MAX,
    maxFreeSockets: IDLE_CONNECTIONS_MAX,
    scheduling: 'lifo' as const,
  };
  const agent = secure ? new HttpsAgent(pool) : new HttpAgent(pool);
  const request = secure ? httpsRequest : httpRequest;
  const usedBefore = new WeakSet<Socket>();
  const begin = (url: string, options: RequestOptions): ClientRequest =>
    request(url, { ...options, agent, method: 'POST' });

  return ({ bytesMax }) => {
    const traffic = noTraffic();
    let bytesSinceFrame = 0;

    async function* bodyOf(response: IncomingMessage): AsyncGenerator<Uint8Array> {
      for await (const chunk of response) {
        const bytes = chunk as Buffer;
        traffic.answerBytes += bytes.byteLength;
        bytesSinceFrame += bytes.byteLength;
        if (bytesSinceFrame > bytesMax) throw new Error(`the answer is larger than ${bytesMax} bytes`);
        yield bytes;
      }
    }

    async function postGrpc(url: string, { headers, body, signal }: RequestInit): Promise<unknown> {
      traffic.method = SERVICE_AND_METHOD.exec(url)?.[1] ?? '';
      const payload = Buffer.from(body as Uint8Array);
      const own = {
        ...Object.fromEntries(headers as Headers),
        'content-length': payload.byteLength,
        'grpc-accept-encoding': ACCEPTED_ENCODING,
      };
      const options = { headers: own, ...(signal === null || signal === undefined ? {} : { signal }) };
      const response = await send({ begin: () => begin(url, options), usedBefore }, payload, traffic);
      noteAnswer(traffic, response);
      // The only fields that the SDK's transport reads.
      return {
        status: response.statusCode ?? 0,
        statusText: response.statusMessage ?? '',
        headers: headersOf(response),
        body:
          response.headers['grpc-encoding'] === ACCEPTED_ENCODING
            ? unpackFrames(bodyOf(response), bytesMax)
            : bodyOf(response),
      };
    }

    return {
      traffic,
      fetch: postGrpc as typeof fetch,
      frameRead() {
        bytesSinceFrame = 0;
      },
    };
  };
}

function noTraffic(): Traffic {
  return {
    requestBytes: 0,
    answerBytes: 0,
    method: '',
    status: undefined,
    newConnection: false,
    chainId: undefined,
    retryAfterMs: undefined,
  };
}

interface Wire {
  readonly begin: () => ClientRequest;
  readonly usedBefore: WeakSet<Socket>;
}

/** Sends again if the server closed the idle connection at that moment: it has not read the request. */
async function send({ begin, usedBefore }: Wire, body: Buffer, traffic: Traffic): Promise<IncomingMessage> {
  for (let resends = 0; ; resends += 1) {
    traffic.requestBytes += body.byteLength;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const sent = begin();
    const isKept = noteConnection(sent, usedBefore);
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isLost = isKept() && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      reject(isLost ? new KeptConnectionLost('', { cause: error }) : error);
    });
    sent.on('response', (response) => {
      traffic.newConnection ||= !isKept();
      resolve(response);
    });
    sent.end(body);
    try {
      return await promise;
    } catch (error) {
      if (!(error instanceof KeptConnectionLost) || resends === RESENDS_MAX) throw error;
    }
  }
}

class KeptConnectionLost extends Error {}

function noteAnswer(traffic: Traffic, { statusCode, headers }: IncomingMessage): void {
  traffic.status = statusCode;
  const chainId = headers['x-sui-chain-id'];
  if (typeof chainId === 'string') traffic.chainId = chainId;
  const seconds = headers['retry-after'];
  if (seconds !== undefined && /^\d+$/.test(seconds)) traffic.retryAfterMs = Number(seconds) * 1_000;
}

function headersOf({ headers }: IncomingMessage): Headers {
  const all = new Headers();
  for (const [name, value] of Object.entries(headers))
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) all.append(name, one);
  return all;
}
