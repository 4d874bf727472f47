import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratchParent } from '@opentill/test-servers/scratch-directory';
import { startTestServers, type TestServersFrom } from './start-test-servers.ts';
import { keptServersFile, SERVERS_FROM_VARIABLE } from './test-servers.ts';

/*
 * Runs one Postgres and one RabbitMQ for tests until SIGINT or SIGTERM, or, with --while-stdin, until its standard
 * input closes (so that it cannot outlive a test run).
 *
 *   node --conditions=source tools/testkit/src/run/keep-servers.ts [--while-stdin] [--urls-file]
 *
 * OPENTILL_TEST_SERVERS selects containers, local or any (default: containers if an engine responds).
 * With --urls-file, later test runs of this checkout use these servers.
 * Prints one line of JSON, {"pid", "databaseUrl", "amqpUrl", "managementUrl"}, when both are ready. The file has the
 * same content and is removed at the end. Data are in a temporary directory, in memory if there is room.
 */
const args = process.argv.slice(2);
const urlsFile = args.includes('--urls-file') ? keptServersFile() : undefined;

const stopRequested = new Promise<void>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
  if (args.includes('--while-stdin'))
    process.stdin
      .on('end', resolve)
      .on('error', () => resolve())
      .resume();
});

const dir = mkdtempSync(join(scratchParent(), 'opentill-test-'));
chmodSync(dir, 0o711); // started by root, the servers run as other users
try {
  const servers = await startTestServers({
    from: readFrom(process.env[SERVERS_FROM_VARIABLE]),
    dir,
    given: { databaseUrl: process.env['DATABASE_URL'], amqpUrl: process.env['AMQP_URL'] },
    say: (line) => console.error(line),
  });
  try {
    const { databaseUrl, amqpUrl, managementUrl } = servers;
    const urls = JSON.stringify({ pid: process.pid, databaseUrl, amqpUrl, managementUrl });
    if (urlsFile !== undefined) {
      writeFileSync(`${urlsFile}.partial`, urls, { mode: 0o600 });
      renameSync(`${urlsFile}.partial`, urlsFile);
    }
    process.stdout.write(`${urls}\n`);
    await stopRequested;
  } finally {
    if (urlsFile !== undefined) rmSync(urlsFile, { force: true });
    await servers.stop();
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exit();

function readFrom(text = ''): TestServersFrom {
  if (text === '' || text === 'any') return 'any';
  if (text === 'containers' || text === 'local') return text;
  throw new Error(`${SERVERS_FROM_VARIABLE} is containers, local or any, not ${text}.`);
}
