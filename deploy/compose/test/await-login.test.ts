import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { entryPoint } from '@opentill/local/checkout';
import { createTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';

function start(service: string, env: Readonly<Record<string, string>>) {
  return spawn(process.execPath, [entryPoint(service, 'await-login')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

test('await-login ends only when the role can log in', async () => {
  const database = await createTestDatabase();
  const admin = database.open('admin');
  const role = `await_login_${randomBytes(4).toString('hex')}`;
  const url = new URL(database.adminUrl);
  url.username = role;
  const program = start('api', { DATABASE_URL: url.href });
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

test('await-login stops at once, without success, when its pod ends', async () => {
  const server = createServer((socket) => void socket.on('error', () => undefined)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connected = once(server, 'connection');
  const program = start('api', { DATABASE_URL: `postgres://role@127.0.0.1:${port}/opentill` });
  try {
    await connected;
    program.kill('SIGTERM');
    // A handler ended it, which also works as the first process of a container.
    expect(await once(program, 'exit')).toEqual([143, null]);
  } finally {
    program.kill('SIGKILL');
    server.close();
  }
});

/** AuthenticationCleartextPassword of Postgres' protocol. The servers of tests trust every client. */
const ASK_FOR_PASSWORD = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]);

test.each(['api', 'scanner-evm', 'scanner-tron', 'scanner-sui', 'payout-signer', 'cli'])(
  'await-login sends the password of its file from the folder of %s',
  async (service) => {
    const directory = mkdtempSync(join(tmpdir(), 'opentill-login-'));
    writeFileSync(join(directory, 'password'), 'p@ss:word/\n');
    const received: Buffer[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write(ASK_FOR_PASSWORD);
        socket.once('data', (message: Buffer) => received.push(message));
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const program = start(service, {
      DATABASE_URL: `postgres://role@127.0.0.1:${port}/opentill`,
      DATABASE_PASSWORD_FILE: join(directory, 'password'),
    });
    try {
      await waitUntil('the password arrives', () => received.length > 0);
      // 'p', length, password, NUL
      expect(received[0]?.subarray(5, -1).toString()).toBe('p@ss:word/');
    } finally {
      program.kill('SIGKILL');
      server.close();
      rmSync(directory, { recursive: true });
    }
  },
);
