import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/**
 * pass: all bytes go through. blackhole: bytes vanish, both ways, and nobody is told. half: what the server answers
 * vanishes, requests go through. refuse: new connections are closed at once.
 */
export type ProxyMode = 'pass' | 'blackhole' | 'half' | 'refuse';

/** A TCP proxy that fails as networks do. */
export interface TcpProxy {
  readonly port: number;
  mode: ProxyMode;
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

  const server = createServer((client) => {
    if (mode === 'refuse') {
      client.destroy();
      return;
    }
    const upstream = connect(targetPort, '127.0.0.1');
    const pair = [client, upstream] as const;
    pairs.add(pair);
    client.on('data', (bytes) => {
      if (mode !== 'blackhole') upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (mode !== 'blackhole' && mode !== 'half') client.write(bytes);
    });
    for (const [one, other] of [pair, [upstream, client] as const]) {
      one.on('error', () => undefined);
      one.on('close', () => {
        if (mode === 'blackhole') return;
        other.destroy();
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
