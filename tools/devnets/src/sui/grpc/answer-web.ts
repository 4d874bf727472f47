import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageFrame, readMessage, statusHeaders, trailersFrame } from './frames.ts';
import { headOf, lowestOf, type Node } from './node.ts';
import { runCall, type Ending, type Methods } from './run-call.ts';

export type RunControl = (name: string, body: Readonly<Record<string, unknown>>) => Promise<unknown>;

export interface AnswerDeps {
  readonly node: Node;
  readonly methods: Methods;
  readonly runControl: RunControl;
}

const BODY_BYTES = 4 * 1024 * 1024;
const CONTROL_PREFIX = '/devnet/';
/** Faucet path of the client library (requestSuiFromFaucetV2). */
const FAUCET_PATH = '/v2/gas';
const FAUCET_CONTROL = 'faucet';
const WEB = 'application/grpc-web';
const WEB_TEXT = 'application/grpc-web-text';
/** Browsers may call it, like a full node. */
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': '*',
  'access-control-allow-methods': 'POST, OPTIONS',
  'access-control-expose-headers': '*',
} as const;

export async function answerWeb(
  deps: AnswerDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  if (request.method === 'OPTIONS') {
    response.writeHead(204, CORS).end();
    return;
  }
  const body = await readBody(request);
  const contentType = request.headers['content-type'] ?? '';
  if (path === FAUCET_PATH) {
    await answerControl(deps.runControl, FAUCET_CONTROL, body, response);
  } else if (path.startsWith(CONTROL_PREFIX)) {
    await answerControl(deps.runControl, path.slice(CONTROL_PREFIX.length), body, response);
  } else if (contentType.startsWith(WEB)) {
    await answerCall(deps, { path, body, isText: contentType.startsWith(WEB_TEXT) }, request, response);
  } else {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('gRPC-web or POST /devnet/<name>\n');
  }
}

async function answerCall(
  { node, methods }: AnswerDeps,
  asked: { readonly path: string; readonly body: Buffer; readonly isText: boolean },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { path, body, isText } = asked;
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  // Like a full node, which compresses answers of all services but subscriptions (sui-rpc-api, into_router).
  const accepted = request.headers['grpc-accept-encoding']?.toString().split(',') ?? [];
  const isPacked = accepted.includes('zstd') && !path.includes('.SubscriptionService/');
  const encoding = isPacked ? { 'grpc-encoding': 'zstd' } : {};
  const begin = (more: Record<string, string> = {}): void => {
    if (response.headersSent) return;
    const contentType = isText ? `${WEB_TEXT}+proto` : `${WEB}+proto`;
    response.writeHead(200, {
      'content-type': contentType,
      ...CORS,
      ...nodeHeaders(node),
      ...encoding,
      ...more,
    });
    response.flushHeaders();
  };
  const write = async (bytes: Buffer): Promise<void> => {
    begin();
    if (response.destroyed) return;
    await new Promise<void>((resolve) =>
      response.write(isText ? bytes.toString('base64') : bytes, () => resolve()),
    );
  };
  const method = methods.get(path);
  // Sends headers at once, so that subscribers know that the subscription is open.
  if (method?.handler?.kind === 'stream' && node.faults.holding('status', method.name).length === 0) begin();
  const ending = await runCall({
    node,
    method,
    path,
    message: readMessage(isText ? Buffer.from(body.toString('latin1'), 'base64') : body),
    call: { signal: gone.signal, header: (name) => request.headers[name]?.toString() },
    send: async (message) => write(messageFrame(message, isPacked)),
  });
  await end(ending, response, begin, write);
}

async function end(
  ending: Ending,
  response: ServerResponse,
  begin: (more?: Record<string, string>) => void,
  write: (bytes: Buffer) => Promise<void>,
): Promise<void> {
  if (response.destroyed) return;
  if (ending === 'cut') {
    response.socket?.destroy();
    return;
  }
  if (!response.headersSent && ending.code !== 0) begin(statusHeaders(ending));
  else await write(trailersFrame(ending));
  response.end();
}

export function nodeHeaders(node: Node): Record<string, string> {
  const { chain } = node;
  const height = headOf(node, '');
  return {
    'x-sui-chain-id': chain.id,
    'x-sui-chain': 'localnet',
    'x-sui-epoch': String(chain.epoch.number),
    'x-sui-checkpoint-height': String(height),
    'x-sui-lowest-available-checkpoint': String(lowestOf(node)),
    'x-sui-timestamp-ms': String(chain.checkpoints.get(height)?.timestampMs ?? chain.head.timestampMs),
  };
}

async function answerControl(
  runControl: RunControl,
  name: string,
  body: Buffer,
  response: ServerResponse,
): Promise<void> {
  const answer = await controlAnswer(runControl, name, body);
  response.writeHead(answer.status, { 'content-type': 'application/json', ...CORS });
  response.end(`${answer.text}\n`);
}

async function controlAnswer(
  runControl: RunControl,
  name: string,
  body: Buffer,
): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const text = body.toString('utf8').trim();
    const parameters = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
    return { status: 200, text: toJson((await runControl(name, parameters)) ?? {}) };
  } catch (error) {
    return { status: 400, text: toJson({ error: error instanceof Error ? error.message : String(error) }) };
  }
}

function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => (typeof item === 'bigint' ? String(item) : item));
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > BODY_BYTES) throw new Error('the body is too large');
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
