import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICE_ROLES, type RoleName } from '@opentill/db/service-schema';
import { GatewayError } from '@opentill/domain/gateway-error';
import { readJson } from '@opentill/domain/read-json';
import { BROKER_SERVICES, type BrokerService } from './gateway-options.ts';

/**
 * - `STATE_DIR_UNSAFE`: the directory belongs to another user or is a symbolic link.
 * - `STATE_FILE_DAMAGED`: a file has other contents than the gateway wrote.
 */
export type StateDirectoryErrorCode = 'STATE_DIR_UNSAFE' | 'STATE_FILE_DAMAGED';

export interface StateDirectory {
  readonly root: string;
  readonly servers: string;
  readonly chains: string;
  readonly logs: string;
  readonly keys: string;
  readonly networksFile: string;
  readonly operatorFile: string;
  readonly operatorTokenFile: string;
  readonly topUpsFile: string;
}

/** Secrets of all runs in a state directory, so that a kept database stays readable. */
export interface LocalSecrets {
  /** Encrypts merchants' tokens: 32 bytes in base64. */
  readonly secretsKey: string;
  readonly keystorePassphrase: string;
  readonly rolePasswords: Readonly<Record<RoleName, string>>;
  readonly brokerPasswords: Readonly<Record<BrokerService, string>>;
  readonly approverPassphrase: string;
}

/** Keeps keys and secrets, because creating a keystore takes a second. Throws GatewayError<StateDirectoryErrorCode>. */
export function prepareStateDirectory(root: string, keep: boolean): StateDirectory {
  mkdirSync(root, { recursive: true, mode: 0o711 }); // other users must reach the servers' directories
  const { uid } = lstatSync(root);
  if (!lstatSync(root).isDirectory() || (process.getuid !== undefined && uid !== process.getuid())) {
    throw new GatewayError<StateDirectoryErrorCode>(
      'STATE_DIR_UNSAFE',
      `${root} belongs to another user: set OPENTILL_STATE_DIR to a directory of yours.`,
      { retryable: false },
    );
  }
  const directory = stateDirectoryAt(root);
  rmSync(directory.logs, { recursive: true, force: true });
  if (!keep) {
    rmSync(directory.chains, { recursive: true, force: true });
    rmSync(directory.operatorTokenFile, { force: true }); // its operator is deleted with the database
  }
  mkdirSync(directory.servers, { recursive: true, mode: 0o711 });
  for (const path of [directory.chains, directory.logs, directory.keys]) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  }
  return directory;
}

/** Paths in the state directory `root`. */
export function stateDirectoryAt(root: string): StateDirectory {
  return {
    root,
    servers: join(root, 'servers'),
    chains: join(root, 'chains'),
    logs: join(root, 'logs'),
    keys: join(root, 'keys'),
    networksFile: join(root, 'networks.json'),
    operatorFile: operatorFileOf(root),
    operatorTokenFile: join(root, 'keys', 'operator-token'),
    topUpsFile: join(root, 'chains', 'top-ups.json'),
  };
}

export function operatorFileOf(root: string): string {
  return join(root, 'operator.json');
}

/** Creates the secrets on first use, and adds those that an older version did not have. */
export function readOrMakeSecrets(directory: StateDirectory): LocalSecrets {
  const file = join(directory.keys, 'secrets.json');
  const known = existsSync(file) ? (parseOwnFile(file) as Partial<LocalSecrets>) : {};
  const secrets: LocalSecrets = {
    secretsKey: randomBytes(32).toString('base64'),
    keystorePassphrase: randomBytes(24).toString('base64url'),
    approverPassphrase: randomBytes(24).toString('base64url'),
    ...known,
    rolePasswords: passwordsOf<RoleName>(SERVICE_ROLES, known.rolePasswords),
    brokerPasswords: passwordsOf<BrokerService>(BROKER_SERVICES, known.brokerPasswords),
  };
  writeFileSync(file, JSON.stringify(secrets), { mode: 0o600 });
  return secrets;
}

function passwordsOf<Name extends string>(
  names: readonly Name[],
  known: Partial<Record<Name, string>> = {},
): Record<Name, string> {
  return Object.fromEntries(
    names.map((name) => [name, known[name] ?? randomBytes(18).toString('base64url')]),
  ) as Record<Name, string>;
}

/** Parses a JSON file of the state directory. Errors do not repeat its text, which contains secrets. */
export function parseOwnFile(file: string): unknown {
  const read = readJson(readFileSync(file, 'utf8'));
  if (read.ok) return read.value;
  throw new GatewayError<StateDirectoryErrorCode>(
    'STATE_FILE_DAMAGED',
    `${file}: ${read.mistake}. Remove the state directory to start again.`,
    { retryable: false },
  );
}
