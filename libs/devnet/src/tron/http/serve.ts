import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Chain } from '../chain/chain.ts';
import { readJson, writeJson } from '../protobuf/json-text.ts';
import type { JsonObject } from '../protobuf/json.ts';
import { createEndpoints } from './endpoints.ts';
import type { NodeAnswer, PreparedJson, Side } from './node.ts';

const BODY_BYTES = 4 * 1024 * 1024;

export interface NodeServer {
  readonly server: Server;
  readonly url: string;
}

/** What `POST /devnet/<name>` calls. Throws a GatewayError for a name or values that it does not take. */
export type RunControl = (name: string, body: JsonObject) => Promise<unknown>;

/** Serves the node's HTTP API: GET with a query or POST with JSON (or a form), as java-tron's servlets take them. */
export async function serveNode(options: {
  readonly chain: Chain;
  readonly host: string;
  readonly port: number;
  readonly runControl: RunControl;
}): Promise<NodeServer> {
  const endpoints = createEndpoints();
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://node');
    const body = { ...Object.fromEntries(url.searchParams), ...parseBody(await readBody(request)) };
    const send = (status: number, text: string): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(text);
    };
    if (url.pathname.startsWith('/devnet/')) {
      await control(url.pathname.slice('/devnet/'.length), body, send);
      return;
    }
    const [, side, name] = /^\/(wallet|walletsolidity)\/(\w+)$/.exec(url.pathname) ?? [];
    const endpoint = endpoints[name?.toLowerCase() ?? ''];
    if (side === undefined || endpoint === undefined) {
      send(404, '{"Error":"no such endpoint"}');
      return;
    }
    const { chain } = options;
    const top = side === 'walletsolidity' ? chain.solidNumber : chain.head.number;
    const visible = body['visible'] === true || body['visible'] === 'true';
    const int64AsString = request.method === 'GET' && body['int64_as_string'] === 'true';
    try {
      const answer = await endpoint({ side: side as Side, chain, top, body, visible });
      send(200, answerText(answer, int64AsString));
    } catch (error) {
      send(200, writeJson({ Error: describeError(error) }));
    }
  }

  async function control(
    name: string,
    body: JsonObject,
    send: (status: number, text: string) => void,
  ): Promise<void> {
    try {
      send(200, writeJson((await options.runControl(name, body)) ?? {}));
    } catch (error) {
      send(400, writeJson({ error: error instanceof Error ? error.message : String(error) }));
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://${options.host}:${port}` };
}

/** Also ends the connections that clients keep open. */
export async function stopServing(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
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

/** Throws away what is no object, as the servlets do. */
function parseBody(text: string): JsonObject {
  if (text.trim() === '') return {};
  if (!text.trimStart().startsWith('{')) return Object.fromEntries(new URLSearchParams(text));
  return readJson(text) as JsonObject;
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
