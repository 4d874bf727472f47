import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * pass: all bytes go through. blackhole: bytes vanish, both ways, and nobody is told. half: what the server answers
 * vanishes, requests go through. refuse: new connections are closed at once.
 */
export type ProxyMode = 'pass' | 'blackhole' | 'half' | 'refuse';

/** A TCP proxy that fails as networks do. */
export interface TcpProxy {
  readonly port: number;
  /** Bytes that a blackhole swallowed are gone: call reset() when it ends, as no TCP goes on with a gap. */
  mode: ProxyMode;
  /** How late bytes come through, each way, in their order; 0 at first. */
  delayMs: number;
  /** The given URL, with the proxy's host and port in place of the server's. */
  through(url: string): string;
  /** Ends every connection with a reset. */
  reset(): void;
  close(): Promise<void>;
}

/** Listens on a free port of 127.0.0.1 in front of a server there. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let mode: ProxyMode = 'pass';
  let delayMs = 0;

  const server = createServer((client) => {
    if (mode === 'refuse') {
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
    get mode() {
      return mode;
    },
    set mode(next) {
      mode = next;
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
          // A reset of a socket that is just ending leaves its handle open for ever, and the process spins at its exit.
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

/** Hands bytes on in the order in which they came, each as late as the delay was when it came. */
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
      // Timers of different lengths may fire out of turn; whichever fires, the oldest bytes go.
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
