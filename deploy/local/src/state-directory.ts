import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICE_SCHEMAS, type ServiceSchema } from '@opentill/db/service-schema';
import { GatewayError } from '@opentill/domain/gateway-error';
import { readJson } from '@opentill/domain/read-json';
import { BROKER_SERVICES, type BrokerService } from './gateway-options.ts';

/**
 * - `STATE_DIR_UNSAFE`: the directory is somebody else's or a symbolic link.
 * - `STATE_FILE_DAMAGED`: a file of the gateway's own is not what it wrote.
 */
export type StateDirectoryErrorCode = 'STATE_DIR_UNSAFE' | 'STATE_FILE_DAMAGED';

/** Where things lie in the state directory. */
export interface StateDirectory {
  readonly root: string;
  readonly servers: string;
  readonly chains: string;
  readonly logs: string;
  readonly keys: string;
  readonly networksFile: string;
  /** The environment of an operator's command on this gateway. */
  readonly operatorFile: string;
  /** The token of the operator that a run makes. */
  readonly operatorTokenFile: string;
  /** Payments to hot wallets that the ledger doesn't know of yet. */
  readonly topUpsFile: string;
}

/** What every run in a state directory shares, so that a kept database goes on being readable. */
export interface LocalSecrets {
  /** Seals merchants' tokens: 32 bytes in base64. */
  readonly secretsKey: string;
  /** Opens the keystore. */
  readonly keystorePassphrase: string;
  readonly rolePasswords: Readonly<Record<ServiceSchema, string>>;
  /** Of the services' own users at a broker of ours. */
  readonly brokerPasswords: Readonly<Record<BrokerService, string>>;
  /** Opens the key by which the local operator approves payouts. */
  readonly approverPassphrase: string;
}

/**
 * Makes the directory and empties what a fresh start must not see. Keys and secrets stay: they are as good for an
 * empty database, and making a keystore takes a second.
 * Throws GatewayError<StateDirectoryErrorCode>.
 */
export function prepareStateDirectory(root: string, keep: boolean): StateDirectory {
  mkdirSync(root, { recursive: true, mode: 0o711 }); // other users pass through to the servers' directories
  const { uid } = lstatSync(root);
  if (!lstatSync(root).isDirectory() || (process.getuid !== undefined && uid !== process.getuid())) {
    throw new GatewayError<StateDirectoryErrorCode>(
      'STATE_DIR_UNSAFE',
      `${root} belongs to another user: set OPENTILL_STATE_DIR to a directory of yours.`,
      { retryable: false },
    );
  }
  const directory: StateDirectory = {
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
  rmSync(directory.logs, { recursive: true, force: true });
  if (!keep) {
    rmSync(directory.chains, { recursive: true, force: true });
    rmSync(directory.operatorTokenFile, { force: true }); // its operator goes with the database
  }
  mkdirSync(directory.servers, { recursive: true, mode: 0o711 });
  for (const path of [directory.chains, directory.logs, directory.keys]) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  }
  return directory;
}

/** Where the gateway of a state directory leaves an operator's environment. */
export function operatorFileOf(root: string): string {
  return join(root, 'operator.json');
}

/** The secrets of this state directory, made at its first use; those that an older version did not know are added. */
export function readOrMakeSecrets(directory: StateDirectory): LocalSecrets {
  const file = join(directory.keys, 'secrets.json');
  const known = existsSync(file) ? (parseOwnFile(file) as Partial<LocalSecrets>) : {};
  const secrets: LocalSecrets = {
    secretsKey: randomBytes(32).toString('base64'),
    keystorePassphrase: randomBytes(24).toString('base64url'),
    approverPassphrase: randomBytes(24).toString('base64url'),
    ...known,
    rolePasswords: passwordsOf<ServiceSchema>(SERVICE_SCHEMAS, known.rolePasswords),
    brokerPasswords: passwordsOf<BrokerService>(BROKER_SERVICES, known.brokerPasswords),
  };
  writeFileSync(file, JSON.stringify(secrets), { mode: 0o600 });
  return secrets;
}

/** The known passwords, and new ones of those that have none. */
function passwordsOf<Name extends string>(
  names: readonly Name[],
  known: Partial<Record<Name, string>> = {},
): Record<Name, string> {
  return Object.fromEntries(
    names.map((name) => [name, known[name] ?? randomBytes(18).toString('base64url')]),
  ) as Record<Name, string>;
}

/** What a JSON file of the state directory holds; its text, which has secrets, is in no error. */
export function parseOwnFile(file: string): unknown {
  const read = readJson(readFileSync(file, 'utf8'));
  if (read.ok) return read.value;
  throw new GatewayError<StateDirectoryErrorCode>(
    'STATE_FILE_DAMAGED',
    `${file}: ${read.mistake}. Remove the state directory to begin anew.`,
    { retryable: false },
  );
}
