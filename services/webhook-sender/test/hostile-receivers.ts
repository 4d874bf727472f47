import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

export interface HostileReceiver {
  readonly port: number;
  readonly connections: number;
  readonly bytesWritten: number;
  close(): Promise<void>;
}

/** @param misbehave called after the headers of each request, with its connection */
export async function startHostile(
  misbehave: (socket: Socket, request: string) => void,
): Promise<HostileReceiver> {
  const sockets = new Set<Socket>();
  let connections = 0;
  let closedBytes = 0;
  const server: Server = createTcpServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      closedBytes += socket.bytesWritten;
    });
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1');
      if (text.includes('\r\n\r\n')) misbehave(socket, text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    get bytesWritten() {
      return closedBytes + [...sockets].reduce((sum, socket) => sum + socket.bytesWritten, 0);
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function drip(socket: Socket, text: string, everyMs: number): void {
  let at = 0;
  const timer = setInterval(() => socket.write(text[at++ % text.length] ?? ''), everyMs);
  socket.on('close', () => clearInterval(timer));
}

function flood(socket: Socket, chunk: Buffer | string): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(chunk));
    if (!socket.destroyed) socket.once('drain', more);
  };
  more();
}

const OK = 'HTTP/1.1 200 OK\r\n';
/** About 194 KB that unpack to 200 MB. */
export const gzipBomb = (): Buffer => gzipSync(Buffer.alloc(200 * 1024 * 1024), { level: 9 });

/** Responses with a timely status succeed: the rest is the receiver's own damage. */
export const MISBEHAVIOURS = {
  'hangs before its headers': () => undefined,
  'drips its status line': (socket: Socket) => drip(socket, 'HTTP/1.1 200 OK\r\n'.padEnd(100_000, 'x'), 20),
  'drips headers without end': (socket: Socket) => {
    socket.write(OK);
    drip(socket, 'x-more: and more\r\n', 20);
  },
  'floods headers': (socket: Socket) => {
    socket.write(OK);
    flood(socket, `x-more: ${'y'.repeat(4_000)}\r\n`);
  },
  'floods one header line': (socket: Socket) => {
    socket.write(`${OK}x-more: `);
    flood(socket, 'y'.repeat(65_536));
  },
  'floods 1xx': (socket: Socket) => flood(socket, 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(2_000)),
  'floods 100': (socket: Socket) => flood(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2_000)),
  'drips 1xx': (socket: Socket) => drip(socket, 'HTTP/1.1 103 Early Hints\r\n\r\n', 20),
  'switches protocols': (socket: Socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
  'speaks another protocol': (socket: Socket) => socket.write('220 mail.example ESMTP\r\n'),
  'sends a NUL in its status line': (socket: Socket) => socket.write('HTTP/1.1 \u0000200 OK\r\n\r\n'),
  resets: (socket: Socket) => socket.resetAndDestroy(),
  'closes without a word': (socket: Socket) => socket.end(),
  'has two lengths': (socket: Socket) =>
    socket.write(`${OK}content-length: 5\r\ncontent-length: 6\r\n\r\nhello!`),
} as const satisfies Record<string, (socket: Socket) => unknown>;

export const BODIES = {
  'drips its body, 1 byte in 200 ms': (socket: Socket) => {
    socket.write(`${OK}content-length: 100000\r\n\r\n`);
    drip(socket, 'x', 200);
  },
  'floods its body': (socket: Socket) => {
    socket.write(`${OK}\r\n`);
    flood(socket, Buffer.alloc(65_536, 'x'));
  },
  'floods one chunk extension': (socket: Socket) => {
    socket.write(`${OK}transfer-encoding: chunked\r\n\r\n5;`);
    flood(socket, 'x'.repeat(65_536));
  },
  'resets in the middle of its body': (socket: Socket) => {
    socket.write(`${OK}content-length: 10\r\n\r\nhalf`);
    setTimeout(() => socket.resetAndDestroy(), 20);
  },
} as const satisfies Record<string, (socket: Socket) => unknown>;
