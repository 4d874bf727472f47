import { chownSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';

/**
 * - `SERVICE_USER_MISSING`: no user exists under which the server may run.
 * - `STATE_DIR_NOT_TRAVERSABLE`: the server's user cannot reach its directory.
 */
export type ServiceUserErrorCode = 'SERVICE_USER_MISSING' | 'STATE_DIR_NOT_TRAVERSABLE';

export interface ServiceUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Undefined (the current user) unless we are root, then the first existing one of `names`. */
export function chooseServiceUser(names: readonly string[]): ServiceUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = parsePasswd(readFileSync('/etc/passwd', 'utf8'));
  for (const name of names) {
    const user = users.get(name);
    if (user !== undefined && user.uid !== 0) return user;
  }
  throw new GatewayError<ServiceUserErrorCode>(
    'SERVICE_USER_MISSING',
    `Started by root, but the server must not run as root and none of the users ${names.join(', ')} exists.`,
    { retryable: false },
  );
}

export function parsePasswd(text: string): Map<string, ServiceUser> {
  const users = new Map<string, ServiceUser>();
  for (const line of text.split('\n')) {
    const [name, , uid, gid] = line.split(':');
    if (name && uid && gid && /^\d+$/.test(uid) && /^\d+$/.test(gid)) {
      users.set(name, { name, uid: Number(uid), gid: Number(gid) });
    }
  }
  return users;
}

/** Creates a private directory for the user. Throws if the user cannot traverse its path. */
export function makeUserDirectory(directory: string, user: ServiceUser | undefined): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (user === undefined) return;
  const blocked = findBlockedAncestor(dirname(directory), user);
  if (blocked !== undefined) {
    throw new GatewayError<ServiceUserErrorCode>(
      'STATE_DIR_NOT_TRAVERSABLE',
      `The user ${user.name} cannot enter ${blocked} to reach ${directory}: choose another directory.`,
      { retryable: false, context: { directory, blocked } },
    );
  }
  chownSync(directory, user.uid, user.gid);
}

/** First directory from `path` upwards that the user may not enter. Undefined if there is none. */
export function findBlockedAncestor(path: string, user: ServiceUser): string | undefined {
  for (let directory = realpathSync(path); ; directory = dirname(directory)) {
    const { mode, uid, gid } = statSync(directory);
    const executeBit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & executeBit) === 0) return directory;
    if (directory === dirname(directory)) return undefined;
  }
}
