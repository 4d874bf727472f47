import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * pass: forwards all bytes. blackhole: drops bytes in both directions without closing. half: forwards requests and
 * drops responses. refuse: closes new connections at once.
 */
export type ProxyMode = 'pass' | 'blackhole' | 'half' | 'refuse';

export interface TcpProxy {
  readonly port: number;
  /** For new connections; others stay where they are, as with a Kubernetes Service. */
  targetPort: number;
  /** A blackhole loses bytes. Call reset() when it ends, because a TCP stream cannot continue with a gap. */
  mode: ProxyMode;
  /** Number of connections closed at once. */
  readonly refused: number;
  /** Delay per direction, which keeps the order of bytes. @default 0 */
  delayMs: number;
  /** Returns the URL with the proxy's host and port. */
  through(url: string): string;
  reset(): void;
  close(): Promise<void>;
}

export async function startTcpProxy(firstTargetPort: number): Promise<TcpProxy> {
  let targetPort = firstTargetPort;
  const pairs = new Set<readonly [Socket, Socket]>();
  let mode: ProxyMode = 'pass';
  let delayMs = 0;
  let refused = 0;

  const server = createServer((client) => {
    if (mode === 'refuse') {
      refused += 1;
      client.destroy();
      return;
    }
    const upstream = connect(targetPort, '127.0.0.1');
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const toUpstream = createLateWriter(upstream, () => delayMs);
    const toClient = createLateWriter(client, () => delayMs);
    client.on('data', (bytes) => {
      if (mode !== 'blackhole') toUpstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (mode !== 'blackhole' && mode !== 'half') toClient.write(bytes);
    });
    for (const [one, toOther] of [
      [client, toUpstream],
      [upstream, toClient],
    ] as const) {
      one.on('error', () => undefined);
      one.on('close', () => {
        if (mode === 'blackhole') return;
        toOther.close();
        pairs.delete(pair);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    port,
    get targetPort() {
      return targetPort;
    },
    set targetPort(next) {
      targetPort = next;
    },
    get mode() {
      return mode;
    },
    set mode(next) {
      mode = next;
    },
    get refused() {
      return refused;
    },
    get delayMs() {
      return delayMs;
    },
    set delayMs(next) {
      delayMs = next;
    },
    through(url) {
      const proxied = new URL(url);
      proxied.hostname = '127.0.0.1';
      proxied.port = String(port);
      return proxied.href;
    },
    reset() {
      for (const sockets of pairs) {
        for (const socket of sockets) {
          // Resetting a socket that is just ending leaves its handle open, and the process spins at its exit.
          if (socket.writableEnded) socket.destroy();
          else socket.resetAndDestroy();
        }
      }
      pairs.clear();
    },
    async close() {
      for (const sockets of pairs) for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Writes bytes in order, each after the delay that was set when it arrived. */
function createLateWriter(to: Socket, delayMs: () => number): { write(bytes: Buffer): void; close(): void } {
  const waiting: Buffer[] = [];
  let isClosing = false;
  return {
    write(bytes) {
      if (delayMs() === 0 && waiting.length === 0) {
        to.write(bytes);
        return;
      }
      waiting.push(bytes);
      // Timers with different delays may fire out of order; each writes the oldest bytes.
      setTimeout(() => {
        const oldest = waiting.shift();
        if (oldest !== undefined && to.writable) to.write(oldest);
        if (isClosing && waiting.length === 0) to.destroy();
      }, delayMs());
    },
    close() {
      isClosing = true;
      if (waiting.length === 0) to.destroy();
    },
  };
}
