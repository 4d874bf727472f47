import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';

const CHECKOUT = join(import.meta.dirname, '../../..');

test('await-login ends only when the role can log in', async () => {
  const database = await createTestDatabase();
  const admin = database.open('admin');
  const role = `await_login_${randomBytes(4).toString('hex')}`;
  const url = new URL(database.adminUrl);
  url.username = role;
  const program = spawn(process.execPath, [join(CHECKOUT, 'deploy/docker/await-login.mjs')], {
    cwd: join(CHECKOUT, 'services/api'),
    env: { DATABASE_URL: url.href },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let output = '';
    program.stdout.on('data', (text: Buffer) => (output += text.toString()));
    await waitUntil('it was refused', () => output.includes('waiting for the database'));
    expect(program.exitCode).toBeNull();
    const name = url.pathname.slice(1);
    await admin.pool.query(`create role ${role} login; grant connect on database ${name} to ${role}`);
    expect(await once(program, 'exit')).toEqual([0, null]);
    await admin.pool.query(`revoke connect on database ${name} from ${role}; drop role ${role}`);
  } finally {
    program.kill('SIGKILL');
    await admin.close();
    await database.drop();
  }
});
