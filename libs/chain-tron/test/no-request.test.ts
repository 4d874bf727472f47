import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';

test('loads TronWeb, signs and reads a payment without opening a socket', async () => {
  // A thread loads every module anew; in this process another test file may have loaded TronWeb before.
  const thread = new Worker(new URL('sign-in-thread.ts', import.meta.url), {
    execArgv: ['--conditions=source'],
  });
  const [{ intent, read, opened }] = (await once(thread, 'message')) as [Record<string, unknown>];
  expect(read).toEqual(intent);
  expect(opened).toEqual(['net.client.socket']);
});
