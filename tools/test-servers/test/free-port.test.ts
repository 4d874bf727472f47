import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { findFreePort, isPortFree } from '../src/free-port.ts';

/** So many that among random ones of the range some would be the same. */
const MANY = 500;

test('nobody is given a port that somebody else was given and does not listen on yet', async () => {
  const ports = await Promise.all(Array.from({ length: MANY }, () => findFreePort()));
  expect(new Set(ports).size).toBe(MANY);
});

test('a port that was given can be listened on, and then is not free', async () => {
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
