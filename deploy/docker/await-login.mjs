// Ends when the role of DATABASE_URL or DATABASE_ADMIN_URL can log in. In Kubernetes it is the init container of every
// service, because in a first installation they start before `opentill setup` has created their roles.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

// Node ignores the signal as the first process of a container.
process.on('SIGTERM', () => process.exit(143));

const POLL_INTERVAL_MS = 1_000;
const REPORT_EVERY = 15;

/** The driver of @opentill/db, on which some services depend only by @opentill/scanner. */
function findDriver(require) {
  for (const name of ['@opentill/db', '@opentill/scanner']) {
    let path;
    try {
      path = require.resolve(`${name}/package.json`);
    } catch {
      continue;
    }
    return name === '@opentill/db' ? createRequire(path)('pg') : findDriver(createRequire(path));
  }
  throw new Error('no @opentill/db in this image');
}

const { Client } = findDriver(createRequire(join(process.cwd(), 'package.json')));

const variable = process.env.DATABASE_ADMIN_URL ? 'DATABASE_ADMIN' : 'DATABASE';
// The URL may name several hosts, separated by commas.
const [, user, hosts, rest] = /^([^@]*@)([^/?]+)(.*)$/.exec(process.env[`${variable}_URL`]);
const passwordFile = process.env[`${variable}_PASSWORD_FILE`];

async function logIn(host) {
  const password = passwordFile ? readFileSync(passwordFile, 'utf8').replace(/\r?\n$/, '') : undefined;
  const login = password ? user.replace('@', `:${encodeURIComponent(password)}@`) : user;
  const connectionString = `${login}${host}${rest}`;
  const client = new Client({ connectionString, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined); // the running query rejects
  try {
    await client.connect();
    await client.query('select 1');
  } finally {
    await client.end().catch(() => undefined);
  }
}

for (let attempts = 0; ; attempts += 1) {
  try {
    await Promise.any(hosts.split(',').map(logIn));
    process.exit(0);
  } catch ({ errors }) {
    if (attempts % REPORT_EVERY === 0)
      console.log(`waiting for the database: ${errors.map(({ message }) => message).join('; ')}`);
    await pause(POLL_INTERVAL_MS);
  }
}
