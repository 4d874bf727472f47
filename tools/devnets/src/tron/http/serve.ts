import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Chain } from '../chain/chain.ts';
import { readJson, writeJson } from '../protobuf/json-text.ts';
import type { JsonObject } from '../protobuf/json.ts';
import { acceptWithoutSubmitting } from './broadcasting.ts';
import { createEndpoints } from './endpoints.ts';
import type { Faults } from './faults.ts';
import { answerJsonRpc } from './json-rpc.ts';
import type { Endpoint, NodeAnswer, PreparedJson, Side } from './node.ts';

const BODY_BYTES = 4 * 1024 * 1024;
/** Longer than clients keep idle connections: the client must close first, or its next request may fail. */
const KEEP_ALIVE_MS = 120_000;

export interface NodeServer {
  readonly server: Server;
  readonly url: string;
}

export type RunControl = (name: string, body: JsonObject) => Promise<unknown>;

interface ServerDeps {
  readonly chain: Chain;
  readonly faults: Faults;
  readonly runControl: RunControl;
}

/** Undefined closes the connection without a response. */
type Answer = { readonly status: number; readonly text: string } | undefined;

/** Serves the node's HTTP API. Like java-tron's servlets it accepts GET with a query, and POST with JSON or a form. */
export async function serveNode(
  options: ServerDeps & { readonly host: string; readonly port: number },
): Promise<NodeServer> {
  const answer = createAnswers(options);
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://node');
    const text = await readBody(request);
    const answered = await answer(request.method ?? 'GET', url, text).catch((error: unknown) =>
      ok(writeJson({ Error: describeError(error) })),
    );
    if (answered === undefined) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{', () => response.destroy());
      return;
    }
    response.writeHead(answered.status, { 'content-type': 'application/json' });
    response.end(answered.text);
  }
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://${options.host}:${port}` };
}

export async function stopServing(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

function createAnswers(deps: ServerDeps): (method: string, url: URL, text: string) => Promise<Answer> {
  const endpoints = createEndpoints();
  return async (method, url, text) => {
    const path = url.pathname;
    if (path.startsWith('/devnet/')) {
      return control(deps, path.slice('/devnet/'.length), readParameters(url, text));
    }
    const faulty = await applyFaults(deps, path);
    if (faulty !== undefined) return faulty === 'cut' ? undefined : faulty;
    const lag = deps.faults.take('lag', path)?.blocks ?? 0;
    const top = (side: Side): number => {
      const newest = Math.max(0, deps.chain.head.number - lag);
      return side === 'walletsolidity' ? Math.min(deps.chain.solidNumber, newest) : newest;
    };
    if (path === '/jsonrpc') return ok(writeJson(answerJsonRpc(deps.chain, top('wallet'), readJson(text))));
    const [, side, name] = /^\/(wallet|walletsolidity)\/(\w+)$/.exec(path) ?? [];
    const endpoint = endpoints[name?.toLowerCase() ?? ''];
    if (side === undefined || endpoint === undefined) {
      return { status: 404, text: '{"Error":"no such endpoint"}' };
    }
    const body = readParameters(url, text);
    const visible = body['visible'] === true || body['visible'] === 'true';
    const int64AsString = method === 'GET' && body['int64_as_string'] === 'true';
    const request = { side: side as Side, chain: deps.chain, top: top(side as Side), body, visible };
    return callEndpoint(deps, { path, endpoint, request, int64AsString });
  };
}

async function callEndpoint(
  { faults }: ServerDeps,
  call: {
    readonly path: string;
    readonly endpoint: Endpoint;
    readonly request: Parameters<Endpoint>[0];
    readonly int64AsString: boolean;
  },
): Promise<Answer> {
  const { path, request } = call;
  const isBroadcast = path.includes('/broadcast');
  if (isBroadcast && faults.take('swallow-broadcast', path)) {
    return ok(writeJson(acceptWithoutSubmitting(request)));
  }
  const answer = await call.endpoint(request);
  if (isBroadcast && faults.take('lose-broadcast-answer', path)) return undefined;
  if (faults.take('empty', path)) return ok(answerText(answer, false).startsWith('[') ? '[]' : '{}');
  return ok(answerText(answer, call.int64AsString));
}

async function applyFaults({ faults }: ServerDeps, path: string): Promise<Answer | 'cut'> {
  const latency = faults.take('latency', path);
  if (latency) await new Promise((resolve) => setTimeout(resolve, latency.delayMs));
  const refused = faults.admit(path, Date.now());
  if (refused) {
    const why = `The key exceeds the frequency limit(${refused.limit}), and the query server is suspended for 1s`;
    return { status: 429, text: writeJson({ Success: false, Error: why }) };
  }
  const status = faults.take('status', path)?.status;
  if (status !== undefined) return { status, text: `{"Error":"status ${status}"}` };
  return faults.take('cut', path) ? 'cut' : undefined;
}

async function control({ runControl }: ServerDeps, name: string, body: JsonObject): Promise<Answer> {
  try {
    return ok(writeJson((await runControl(name, body)) ?? {}));
  } catch (error) {
    return {
      status: 400,
      text: writeJson({ error: error instanceof Error ? error.message : String(error) }),
    };
  }
}

function ok(text: string): Answer {
  return { status: 200, text };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes > BODY_BYTES) throw new Error('the body is too large');
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function readParameters(url: URL, text: string): JsonObject {
  const query = Object.fromEntries(url.searchParams);
  if (text.trim() === '') return query;
  if (!text.trimStart().startsWith('{'))
    return { ...query, ...Object.fromEntries(new URLSearchParams(text)) };
  return { ...query, ...(readJson(text) as JsonObject) };
}

function answerText(answer: NodeAnswer, int64AsString: boolean): string {
  const prepared = (answer as Partial<PreparedJson>).preparedJson;
  if (prepared === undefined) return writeJson(answer, { int64AsString });
  return int64AsString ? writeJson(readJson(prepared), { int64AsString }) : prepared;
}

function describeError(error: unknown): string {
  if (error instanceof GatewayError && error.code === 'NODE_ERROR') return error.message;
  return `class java.lang.Exception : ${error instanceof Error ? error.message : String(error)}`;
}
