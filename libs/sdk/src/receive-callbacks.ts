import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  CallbackError,
  verifyCallback,
  type Callback,
  type HeaderValues,
  type VerifyOptions,
} from './verify-callback.ts';

export interface ReceiveOptions extends VerifyOptions {
  /**
   * Called with each callback that is verified. The gateway hears 200 once it resolves and sends nothing of this order before;
   * when it rejects, or takes longer than 10 s, the same callback comes again.
   */
  readonly onCallback: (callback: Callback) => void | Promise<void>;
  /** Told of what was refused (CallbackError), and of what `onCallback` threw. What it throws itself is dropped. */
  readonly onError?: (error: unknown) => void;
}

/** A request as express has it: `body` where a parser ran, of any kind; none where none did. */
export type CallbackIncoming = IncomingMessage & { readonly body?: unknown };

const BODY_BYTES_MAX = 65_536;

interface Outcome {
  readonly status: number;
  readonly text: string;
}

/**
 * Middleware for express, or a handler for `node:http`: verifies a callback, hands it on, and answers. Works behind
 * `express.json()`, `express.raw()`, and without any parser.
 */
export function expressCallbacks(
  options: ReceiveOptions,
): (request: CallbackIncoming, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const { status, text } = await answerTo(() => bodyOf(request), request.headers, options);
    response.statusCode = status;
    response.setHeader('content-type', 'text/plain');
    if (status === TOO_LARGE.status) response.setHeader('connection', 'close');
    response.end(text);
  };
}

/** The same for frameworks that speak `Request` and `Response`. */
export function fetchCallbacks(options: ReceiveOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    const { status, text } = await answerTo(() => readBounded(request), request.headers, options);
    return new Response(text, { status, headers: { 'content-type': 'text/plain' } });
  };
}

const TOO_LARGE: Outcome = { status: 413, text: 'no callback is so long' };

/** Never rejects: who asked may be gone before the body has come. */
async function answerTo(
  readBody: () => Promise<string | Uint8Array | object | undefined>,
  headers: HeaderValues,
  { onCallback, onError, ...verifying }: ReceiveOptions,
): Promise<Outcome> {
  try {
    const body = await readBody();
    if (body === undefined) return TOO_LARGE;
    await onCallback(verifyCallback({ body, headers }, verifying));
    return { status: 200, text: 'ok' };
  } catch (error) {
    tell(onError, error);
    if (!(error instanceof CallbackError)) return { status: 500, text: 'not taken' };
    return { status: error.code === 'BODY_UNREADABLE' ? 400 : 401, text: error.message };
  }
}

/** The gateway is answered whatever the shop's own reporting does. */
function tell(onError: ReceiveOptions['onError'], error: unknown): void {
  try {
    onError?.(error);
  } catch {
    // There is nobody left to tell.
  }
}

/** Undefined: too long. */
async function bodyOf(request: CallbackIncoming): Promise<string | Uint8Array | object | undefined> {
  const { body } = request;
  if (typeof body === 'string' || (typeof body === 'object' && body !== null)) return body;
  return gather(request);
}

async function readBounded(request: Request): Promise<Uint8Array | undefined> {
  return request.body === null ? new Uint8Array() : gather(request.body);
}

async function gather(stream: AsyncIterable<unknown>): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const part = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Uint8Array);
    bytes += part.byteLength;
    if (bytes > BODY_BYTES_MAX) return undefined;
    chunks.push(part);
  }
  return Buffer.concat(chunks);
}
