import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startRabbitMq } from '../src/rabbitmq.ts';
import { processesOf } from '../src/running-processes.ts';
import { withScratchDirectory } from '../src/scratch-directory.ts';

test('a taken port is an error that leaves no process', async () => {
  await withScratchDirectory(async (directory) => {
    const taken = Number(new URL(process.env['OPENTILL_TEST_AMQP_URL'] ?? '').port);
    await expect(startRabbitMq({ dir: join(directory, 'rabbitmq'), port: taken })).rejects.toMatchObject({
      code: 'PROCESS_EXITED_EARLY',
    });
    expect(processesOf(directory)).toEqual([]);
  });
});
