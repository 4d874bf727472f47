import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { findFreePort, isPortFree } from '../src/free-port.ts';

/** Enough that random ports of the range would collide. */
const MANY = 500;

test('never returns a port that was returned before, even without a listener', async () => {
  const ports = await Promise.all(Array.from({ length: MANY }, () => findFreePort()));
  expect(new Set(ports).size).toBe(MANY);
});

test('reports a returned port as taken once a server listens', async () => {
  const port = await findFreePort();
  expect(await isPortFree(port)).toBe(true);
  for (const host of ['127.0.0.1', '0.0.0.0', '::']) {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, host, resolve);
    });
    expect(await isPortFree(port)).toBe(false);
    await new Promise((resolve) => server.close(resolve));
  }
});
