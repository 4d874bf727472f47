import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openDatabase, type Database } from '@opentill/db/database';
import { migrate } from '@opentill/db/migrate';
import { roleUrl, setRolePasswords } from '@opentill/db/roles';
import { declareTopology } from '@opentill/messaging/declare-topology';
import { findOrStartServers } from '@opentill/test-servers/servers';

const ROLES = ['tracker', 'signer', 'scanner_evm', 'scanner_tron', 'scanner_sui'] as const;
export type Role = (typeof ROLES)[number];

export interface BenchServers {
  readonly dir: string;
  readonly amqpUrl: string;
  readonly admin: pg.Client;
  urlOf(role: Role): string;
  open(role: Role): Database;
}

/** Starts servers with a migrated, empty database. Ignores servers that the environment names. */
export async function withServers<T>(
  say: (line: string) => void,
  work: (servers: BenchServers) => Promise<T>,
): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'opentill-bench-'));
  chmodSync(dir, 0o711); // under root, Postgres runs as another user
  const { database, broker, stop } = await findOrStartServers({ dir, given: {}, keepData: false, say });
  const admin = new pg.Client({ connectionString: database.url, application_name: 'bench' });
  try {
    await declareTopology(broker.url);
    await migrate(database.url);
    const password = randomBytes(16).toString('hex');
    await setRolePasswords(database.url, Object.fromEntries(ROLES.map((role) => [role, password])));
    await admin.connect();
    const urlOf = (role: Role): string => roleUrl(database.url, role, password);
    const open = (role: Role): Database =>
      openDatabase({
        url: urlOf(role),
        applicationName: `bench ${role}`,
        poolMax: 8,
        prepareStatements: true,
      });
    return await work({ dir, amqpUrl: broker.url, admin, urlOf, open });
  } finally {
    await admin.end();
    await stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

export async function numberOf(admin: pg.Client, sql: string, values: unknown[] = []): Promise<number> {
  return Number((await admin.query<{ n: string }>(sql, values)).rows[0]?.n ?? 0);
}
