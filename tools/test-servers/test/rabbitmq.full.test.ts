import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { findFreePort } from '../src/free-port.ts';
import { answersAmqp } from '../src/probe-server.ts';
import { startRabbitMq, type RabbitMqServer } from '../src/rabbitmq.ts';
import { waitUntil } from '../src/poll-until.ts';
import { processesOf } from '../src/running-processes.ts';
import { withScratchDirectory } from '../src/scratch-directory.ts';

let running: RabbitMqServer | undefined;
afterEach(async () => running?.stop('kill'));

test('starts, keeps its data after a crash, stops and leaves no process', async () => {
  await withScratchDirectory(async (directory) => {
    const dir = join(directory, 'rabbitmq');
    const port = await findFreePort();
    for (const mode of ['kill', 'graceful'] as const) {
      running = await startRabbitMq({ dir, port });
      expect(running.isRunning()).toBe(true);
      const answers = async () => answersAmqp(port);
      expect(await waitUntil(answers, { deadlineMs: 60_000, pollIntervalMs: 20 })).toBe(true);
      expect(processesOf(directory).filter((command) => command.includes('epmd -port')).length).toBe(1);
      await running.stop(mode);
      expect(await answersAmqp(port)).toBe(false);
      expect(processesOf(directory)).toEqual([]);
    }
  });
}, 400_000);

test('reports a taken port and leaves no process', async () => {
  await withScratchDirectory(async (directory) => {
    const taken = Number(new URL(process.env['OPENTILL_TEST_AMQP_URL'] ?? '').port);
    await expect(startRabbitMq({ dir: join(directory, 'rabbitmq'), port: taken })).rejects.toMatchObject({
      code: 'PROCESS_EXITED_EARLY',
    });
    expect(processesOf(directory)).toEqual([]);
  });
});
