import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';
import { GatewayError } from '@opentill/domain/gateway-error';

/** - `NO_FREE_PORT`: a hundred random ports were all taken. */
export type FreePortErrorCode = 'NO_FREE_PORT';

/** Below the kernel's ephemeral range, so that no outgoing connection takes the port before its server does. */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;
/** Longer than anything takes from the choice of its ports to its last server. */
const RESERVED_MS = 300_000;

/** Whether nobody listens on this TCP port of 127.0.0.1 right now. */
export async function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * A random TCP port that is free on 127.0.0.1 now, and that nobody else who asks here is given in the next five
 * minutes, in whatever process, while this one lives. Throws GatewayError<FreePortErrorCode>.
 */
export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if ((await reservePort(port)) && (await isPortFree(port))) return port;
  }
  throw new GatewayError<FreePortErrorCode>('NO_FREE_PORT', 'No free TCP port was found.', {
    retryable: true,
  });
}

/**
 * Tells everybody on this machine that the port is given away, before its server listens, and while it starts again: by
 * the UDP port of the same number, which the server does not need and the kernel gives to one process only.
 */
async function reservePort(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    socket.unref();
    socket.once('error', () => {
      socket.close();
      resolve(false);
    });
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => {
      setTimeout(() => socket.close(), RESERVED_MS).unref();
      resolve(true);
    });
  });
}
