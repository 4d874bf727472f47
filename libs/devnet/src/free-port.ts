import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { GatewayError } from '@opentill/domain/gateway-error';

/** - `NO_FREE_PORT`: a hundred random ports were all taken. */
export type FreePortErrorCode = 'NO_FREE_PORT';

/** Below the kernel's ephemeral range, so that no outgoing connection takes the port before its server does. */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;

/** Whether nobody listens on this TCP port of 127.0.0.1 right now. */
export async function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** A random TCP port that is free on 127.0.0.1 now. Throws GatewayError<FreePortErrorCode>. */
export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (await isPortFree(port)) return port;
  }
  throw new GatewayError<FreePortErrorCode>('NO_FREE_PORT', 'No free TCP port was found.', {
    retryable: true,
  });
}
