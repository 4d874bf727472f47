import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';

// Ends when the role of DATABASE_URL or DATABASE_ADMIN_URL can log in. In Kubernetes it is the init container of every
// service, because in a first installation they start before `opentill setup` has created their roles.

const POLL_INTERVAL_MS = 1_000;
const REPORT_EVERY = 15;
const CONNECTION_TIMEOUT_MS = 5_000;

// Node ignores the signal as the first process of a container.
process.on('SIGTERM', () => process.exit(143));

const variable = process.env['DATABASE_ADMIN_URL'] ? 'DATABASE_ADMIN' : 'DATABASE';
// The URL may name several hosts, separated by commas.
const [, user = '', hosts = '', rest = ''] =
  /^([^@]*@)([^/?]+)(.*)$/.exec(process.env[`${variable}_URL`] ?? '') ?? [];
const passwordFile = process.env[`${variable}_PASSWORD_FILE`];

async function logIn(host: string): Promise<void> {
  const password = passwordFile ? readFileSync(passwordFile, 'utf8').replace(/\r?\n$/, '') : undefined;
  const login = password ? user.replace('@', `:${encodeURIComponent(password)}@`) : user;
  const connectionString = `${login}${host}${rest}`;
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: CONNECTION_TIMEOUT_MS });
  client.on('error', () => undefined); // the running query rejects
  try {
    await client.connect();
    await client.query('select 1');
  } finally {
    await client.end().catch(() => undefined);
  }
}

for (let attempts = 0; ; attempts += 1) {
  const results = await Promise.allSettled(hosts.split(',').map(logIn));
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []));
  if (errors.length < results.length) process.exit(0);
  if (attempts % REPORT_EVERY === 0)
    process.stdout.write(`waiting for the database: ${errors.map(({ message }) => message).join('; ')}\n`);
  await pause(POLL_INTERVAL_MS);
}
