import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { openDatabase } from '@opentill/db/database';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startPostgres, type PostgresServer } from '@opentill/test-servers/postgres';
import { scratchParent } from '@opentill/test-servers/scratch-directory';
import { chooseServiceUser } from '@opentill/test-servers/service-user';

/* A server that accepts only TLS, as managed Postgres does. Its certificate is for the name `localhost`. */

let directory: string;
let server: PostgresServer;

const certificateOf = (name: string) =>
  generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: name }] }],
  });

function save(name: string, text: string): string {
  const file = join(directory, name);
  writeFileSync(file, text, { mode: 0o600 });
  const user = chooseServiceUser(['postgres', 'nobody']);
  if (user !== undefined) chownSync(file, user.uid, user.gid);
  return file;
}

beforeAll(async () => {
  directory = mkdtempSync(join(scratchParent(), 'opentill-tls-'));
  chmodSync(directory, 0o711);
  const own = await certificateOf('localhost');
  const other = await certificateOf('localhost');
  save('other.crt', other.cert);
  server = await startPostgres({
    dir: join(directory, 'server'),
    port: await findFreePort(),
    durable: false,
    settings: {
      ssl: 'on',
      ssl_cert_file: save('own.crt', own.cert),
      ssl_key_file: save('own.key', own.private),
      hba_file: save('hba.conf', 'hostssl all all 127.0.0.1/32 trust\n'),
    },
  });
}, 300_000);

afterAll(async () => {
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function isEncrypted(host: string, parameters: string): Promise<boolean | undefined> {
  const url = `postgres://opentill@${host}:${server.port}/opentill${parameters}`;
  const database = openDatabase({ url, applicationName: 'tls', connectTimeoutMs: 90_000 });
  try {
    const { rows } = await sql<{ ssl: boolean }>`
      select ssl from pg_stat_ssl where pid = pg_backend_pid()`.execute(database.kysely);
    return rows[0]?.ssl;
  } finally {
    await database.close();
  }
}

const verifying = (certificate: string) => `?sslmode=verify-full&sslrootcert=${join(directory, certificate)}`;

test('encrypts the connection and verifies the certificate by a CA file', async () => {
  expect(await isEncrypted('localhost', verifying('own.crt'))).toBe(true);
});

test('encrypts the connection to the primary among several hosts', async () => {
  const hosts = `localhost:${await findFreePort()},localhost`;
  expect(await isEncrypted(hosts, verifying('own.crt'))).toBe(true);
});

test.each([
  ['of another CA', 'localhost', 'other.crt', /self-signed certificate/],
  ['for another name', '127.0.0.1', 'own.crt', /does not match certificate's altnames/],
])('refuses a certificate %s and says so', async (_case, host, certificate, message) => {
  await expect(isEncrypted(host, verifying(certificate))).rejects.toMatchObject({
    code: 'DATABASE_UNAVAILABLE',
    message: expect.stringMatching(message),
  });
});

test('reports that the server accepts only TLS', async () => {
  await expect(isEncrypted('localhost', '')).rejects.toMatchObject({
    code: 'DATABASE_FORBIDDEN',
    message: expect.stringMatching(/no encryption/),
  });
});
