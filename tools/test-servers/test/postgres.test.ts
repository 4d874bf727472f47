import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { findFreePort } from '../src/free-port.ts';
import { startPostgres, type PostgresServer } from '../src/postgres.ts';
import { answersPostgres } from '../src/probe-server.ts';
import { waitUntil } from '../src/poll-until.ts';
import { processesOf } from '../src/running-processes.ts';
import { withScratchDirectory } from '../src/scratch-directory.ts';

let running: PostgresServer | undefined;
afterEach(async () => running?.stop('immediate'));

test('starts, stops in every mode, reports a taken port and leaves no process', async () => {
  await withScratchDirectory(async (directory) => {
    const port = await findFreePort();
    const dir = join(directory, 'postgres');
    for (const mode of ['fast', 'immediate', 'kill', 'smart'] as const) {
      running = await startPostgres({ dir, port });
      expect(running.url).toBe(`postgres://opentill@127.0.0.1:${port}/opentill`);
      const answers = async () => answersPostgres(port, 'opentill');
      expect(await waitUntil(answers, { deadlineMs: 60_000, pollIntervalMs: 20 })).toBe(true);
      await running.stop(mode);
      expect(await answersPostgres(port, 'opentill')).toBe(false);
      expect(processesOf(directory)).toEqual([]);
    }
    const other = createServer().listen(port, '127.0.0.1');
    await once(other, 'listening');
    await expect(startPostgres({ dir, port })).rejects.toMatchObject({
      code: 'PROCESS_EXITED_EARLY',
      message: expect.stringContaining('Address already in use'),
    });
    other.close();
    expect(processesOf(directory)).toEqual([]);
  });
});
