import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { changeServerUrl } from '@opentill/contracts/server-url';
import { translateDatabaseError } from './database-error.ts';
import { connectToPrimary } from './find-primary.ts';
import { SERVICE_ROLES, serviceRole, type RoleName } from './service-schema.ts';

const SCRAM_ITERATIONS = 4096;

/** Postgres stores it like this (RFC 5803; pg_authid). Sent instead of the password, so that no log contains that. */
export function scramVerifier(password: string, salt: Buffer = randomBytes(16)): string {
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, SCRAM_ITERATIONS, 32, 'sha256');
  const hmac = (text: string) => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(hmac('Client Key')).digest('base64');
  const serverKey = hmac('Server Key').toString('base64');
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

/** Other roles keep theirs. The first migration creates the roles. */
export async function setRolePasswords(
  adminUrl: string,
  passwords: Readonly<Partial<Record<RoleName, string>>>,
): Promise<void> {
  const client = await connectToPrimary({ connectionString: adminUrl, application_name: 'opentill-setup' });
  try {
    for (const name of SERVICE_ROLES) {
      const password = passwords[name];
      if (password === undefined) continue;
      const verifier = client.escapeLiteral(scramVerifier(password));
      await client.query(`alter role ${client.escapeIdentifier(serviceRole(name))} password ${verifier}`);
    }
  } catch (error) {
    throw translateDatabaseError(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

export function roleUrl(adminUrl: string, name: RoleName, password?: string): string {
  return changeServerUrl(adminUrl, (url) => {
    url.username = serviceRole(name);
    url.password = password === undefined ? '' : encodeURIComponent(password);
  });
}

/**
 * Grants only the service roles access, and switches JIT off, whose compiling costs more than these short statements. A
 * copy of a template needs it again, because both belong to the database. Roles of later migrations may not exist yet
 * while older ones are tested.
 */
export async function configureDatabase(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string; roles: readonly string[] }>(
    `select quote_ident(current_database()) as name,
      array(select quote_ident(rolname) from pg_roles where rolname = any($1)) as roles`,
    [SERVICE_ROLES.map(serviceRole)],
  );
  const { name: database, roles } = rows[0] ?? { name: '', roles: [] };
  await client.query(`revoke all on database ${database} from public`);
  await client.query(`alter database ${database} set jit = off`);
  if (roles.length > 0) await client.query(`grant connect on database ${database} to ${roles.join(', ')}`);
}
