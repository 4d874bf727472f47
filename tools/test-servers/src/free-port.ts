import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';
import { GatewayError } from '@opentill/domain/gateway-error';

export type FreePortErrorCode = 'NO_FREE_PORT';

/** Below the kernel's ephemeral range, so that no outgoing connection uses the port before its server. */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;
/** Longer than any caller needs until its servers listen. */
const RESERVED_MS = 300_000;

export async function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** While this process lives, no process gets the same port from this function within five minutes. */
export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if ((await reservePort(port)) && (await isPortFree(port))) return port;
  }
  throw new GatewayError<FreePortErrorCode>('NO_FREE_PORT', 'No free TCP port was found.', {
    retryable: true,
  });
}

/** Binds the UDP port of the same number, which the kernel gives to a single process and the server does not need. */
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
