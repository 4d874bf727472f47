import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly at: number;
  readonly text: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: {
    readonly sign: string;
    readonly timestamp: number;
    readonly nonce: string;
    readonly notifyType: string;
    readonly data: Record<string, unknown>;
  };
}

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  answer: (callback: Received, response: ServerResponse, request: IncomingMessage) => void;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const callback: Received = {
        at: Date.now(),
        text,
        headers: request.headers,
        body: JSON.parse(text) as Received['body'],
      };
      received.push(callback);
      receiver.answer(callback, response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/callbacks`,
    received,
    answer: (_callback, response) => void response.end('ok'),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}
