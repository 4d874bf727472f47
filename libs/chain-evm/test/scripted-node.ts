import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { vi } from 'vitest';

export interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: readonly unknown[];
}
export interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** A string or bytes are sent as they are, anything else as JSON. */
  readonly body: unknown;
}
/** An answer, none, or a connection reset. */
export type Script = (
  calls: readonly Call[],
  isBatch: boolean,
) => Answer | 'silence' | 'reset' | Promise<Answer>;

export interface ScriptedNode {
  readonly url: string;
  /** The calls of each request, in the order of arrival. */
  readonly requests: (readonly Call[])[];
  readonly headers: IncomingHttpHeaders[];
  connections: number;
  /** Requests that the client cancelled. */
  brokenOff: number;
  script: Script;
  dropConnections(): void;
  close(): Promise<void>;
}

/** The path of its URL is a secret that must appear in no error or log. */
export async function scriptedNode(script: Script = answering()): Promise<ScriptedNode> {
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      const body = JSON.parse(text) as Call | Call[];
      const calls = Array.isArray(body) ? body : [body];
      node.requests.push(calls);
      node.headers.push(request.headers);
      response.on('close', () => (node.brokenOff += response.writableEnded ? 0 : 1));
      void (async () => {
        const answer = await node.script(calls, Array.isArray(body));
        if (answer === 'silence') return;
        if (answer === 'reset') return void request.socket.destroy();
        response.writeHead(answer.status ?? 200, answer.headers);
        response.end(
          typeof answer.body === 'string' || Buffer.isBuffer(answer.body)
            ? answer.body
            : JSON.stringify(answer.body),
        );
      })();
    });
  });
  server.keepAliveTimeout = 0; // also when a test pauses between two requests
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const node: ScriptedNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/secret-key`,
    requests: [],
    headers: [],
    connections: 0,
    brokenOff: 0,
    script,
    dropConnections: () => server.closeAllConnections(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  server.on('connection', () => (node.connections += 1));
  return node;
}

export type Result = (call: Call) => unknown;

/** By default each call's result is `<method>!`. 0x38 is BSC's chain id. */
export function answering(result: Result = ({ method }) => `${method}!`, chainId = '0x38'): Script {
  return (calls, isBatch) => {
    const items = calls.map((call) => ({
      jsonrpc: '2.0',
      id: call.id,
      result: call.method === 'eth_chainId' ? chainId : result(call),
    }));
    return { body: isBatch ? items : items[0] };
  };
}

export function refusing(code: number, message: string, status = 200): Script {
  return () => ({ status, body: { jsonrpc: '2.0', id: null, error: { code, message } } });
}

export const callOf = (method: string, ...params: unknown[]): { method: string; params: unknown[] } => ({
  method,
  params,
});
export const callsOf = (count: number): { method: string; params: unknown[] }[] =>
  Array.from({ length: count }, (_, place) => callOf('echo', place));

/** No answer until the client's timeout, which this ends at once. Needs fake timers. */
export const neverAnswering: Script = () => {
  vi.advanceTimersByTime(60_000);
  return 'silence';
};
