import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NODE_ENVIRONMENT } from '@opentill/testkit/node-environment';

test('exits with the error code when a service lacks a dependency', async () => {
  const child = spawn(
    process.execPath,
    ['--conditions=source', join(import.meta.dirname, '../src/gateway.ts')],
    {
      env: {
        ...NODE_ENVIRONMENT,
        NETWORKS_FILE: join(import.meta.dirname, '../../networks/local.json'),
        DATABASE_URL: 'postgres://127.0.0.1:1/x',
        AMQP_URL: 'amqp://127.0.0.1:1',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  expect(await new Promise((resolve) => child.once('close', resolve))).toBe(1);
  expect(output).toContain('"message":"service failed"');
});
