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
   * Called with each verified callback. When it resolves, the gateway receives 200 and sends the order's next callback.
   * When it rejects or takes longer than 10 s, the gateway sends the same callback again.
   */
  readonly onCallback: (callback: Callback) => void | Promise<void>;
  /** Receives rejected requests (CallbackError) and errors of `onCallback`. An error that it throws is dropped. */
  readonly onError?: (error: unknown) => void;
}

/** Express sets `body` when a body parser ran, of any kind. */
export type CallbackIncoming = IncomingMessage & { readonly body?: unknown };

const BODY_BYTES_MAX = 65_536;

interface Outcome {
  readonly status: number;
  readonly text: string;
}

/** Handles express, behind `express.json()`, `express.raw()` or no parser, and `node:http`. */
export function expressCallbacks(
  options: ReceiveOptions,
): (request: CallbackIncoming, response: ServerResponse) => Promise<void> {
  return async (request, response) => {
    const { status, text } = await respond(() => readNodeBody(request), request.headers, options);
    response.statusCode = status;
    response.setHeader('content-type', 'text/plain');
    if (status === TOO_LARGE.status) response.setHeader('connection', 'close');
    response.end(text);
  };
}

/** Handles frameworks with `Request` and `Response`. */
export function fetchCallbacks(options: ReceiveOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    const { status, text } = await respond(() => readFetchBody(request), request.headers, options);
    return new Response(text, { status, headers: { 'content-type': 'text/plain' } });
  };
}

const TOO_LARGE: Outcome = { status: 413, text: 'the body is longer than any callback' };

/** Never rejects: the client may disconnect before its body is complete. */
async function respond(
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
    report(onError, error);
    if (!(error instanceof CallbackError)) return { status: 500, text: 'not processed' };
    return { status: error.code === 'BODY_UNREADABLE' ? 400 : 401, text: error.message };
  }
}

/** The gateway gets a response even when the shop's reporting fails. */
function report(onError: ReceiveOptions['onError'], error: unknown): void {
  try {
    onError?.(error);
  } catch {}
}

/** Undefined when the body is too long. */
async function readNodeBody(request: CallbackIncoming): Promise<string | Uint8Array | object | undefined> {
  const { body } = request;
  if (typeof body === 'string' || (typeof body === 'object' && body !== null)) return body;
  return gather(request);
}

async function readFetchBody(request: Request): Promise<Uint8Array | undefined> {
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
