import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type Reply =
  | { readonly status: number; readonly body: string; readonly headers?: Readonly<Record<string, string>> }
  | 'reset'
  | 'silence';

/** Sends `replies` in order, repeats the last one, and records the requests. */
export interface ScriptedServer {
  readonly url: string;
  readonly asked: readonly Asked[];
  replies: readonly Reply[];
  close(): Promise<void>;
}

export const envelope = (code: number, msg: string, data: unknown = null, detail?: unknown): Reply => ({
  status: code,
  body: JSON.stringify({ code, msg, data, detail }),
});

export async function startScriptedServer(): Promise<ScriptedServer> {
  const asked: Asked[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const reply = scripted.replies[Math.min(asked.length, scripted.replies.length - 1)] ?? 'reset';
      const { method = '', url = '', headers } = request;
      asked.push({ method, path: url, headers, body: Buffer.concat(chunks).toString('utf8') });
      if (reply === 'reset') request.socket.destroy();
      else if (reply !== 'silence') response.writeHead(reply.status, reply.headers).end(reply.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const scripted: ScriptedServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    replies: [],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return scripted;
}
