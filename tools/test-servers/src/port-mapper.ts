import { createServer, type AddressInfo, type Socket } from 'node:net';

/** Replaces epmd, Erlang's port mapper, so that a test decides by which port a node reaches another. */
export interface PortMapper {
  readonly port: number;
  close(): Promise<void>;
}

const ALIVE = 120;
const ALIVE_ANSWER = 121;
const PORT_PLEASE = 122;
const PORT_ANSWER = 119;
const NAMES = 110;
const NORMAL_NODE = 77;
/** Versions of Erlang's distribution protocol: OTP 23 and later speak 6. */
const HIGHEST_VERSION = 6;
const LOWEST_VERSION = 5;

/** @param portOf port of a node's name without its host; undefined if the node is unknown. erl_dist_protocol(3) */
export async function startPortMapper(portOf: (name: string) => number | undefined): Promise<PortMapper> {
  const sockets = new Set<Socket>();
  const registered = new Map<string, number>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    let received = Buffer.alloc(0);
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      if (received.length < 2 || received.length < 2 + received.readUInt16BE(0)) return;
      const request = received.subarray(2, 2 + received.readUInt16BE(0));
      received = received.subarray(2 + request.length);
      answer(socket, request);
    });
  });

  function answer(socket: Socket, request: Buffer): void {
    switch (request[0]) {
      case ALIVE: {
        const name = request.subarray(11, 11 + request.readUInt16BE(9)).toString();
        registered.set(name, request.readUInt16BE(1));
        socket.on('close', () => registered.delete(name));
        socket.write(Buffer.from([ALIVE_ANSWER, 0, 0, 1])); // the node keeps the connection open
        break;
      }
      case PORT_PLEASE:
        socket.end(describe(request.subarray(1).toString()));
        break;
      case NAMES: {
        const names = [...registered].map(([name, port]) => `name ${name} at port ${port}\n`);
        const head = Buffer.alloc(4);
        head.writeUInt32BE((server.address() as AddressInfo).port);
        socket.end(Buffer.concat([head, Buffer.from(names.join(''))]));
        break;
      }
      default:
        socket.destroy();
    }
  }

  function describe(name: string): Buffer {
    const port = registered.get(name) ?? portOf(name);
    if (port === undefined) return Buffer.from([PORT_ANSWER, 1]);
    const head = Buffer.from([
      PORT_ANSWER,
      0,
      0,
      0,
      NORMAL_NODE,
      0,
      0,
      HIGHEST_VERSION,
      0,
      LOWEST_VERSION,
      0,
      0,
    ]);
    head.writeUInt16BE(port, 2);
    head.writeUInt16BE(name.length, 10);
    return Buffer.concat([head, Buffer.from(name), Buffer.from([0, 0])]);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
