import { randomBytes } from 'node:crypto';
import { chmod, copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { identifyKeystore } from '@opentill/wallet/keystore';
import { readPublicKeys } from '@opentill/wallet/public-keys';
import { exportDatabase, syncFile } from '@opentill/db/backup/export-database';
import {
  FORMAT,
  FORMAT_VERSION,
  MANIFEST_FILE,
  SUMS_FILE,
  type KeptFile,
  type KeptFileRole,
  type Manifest,
} from '@opentill/db/backup/manifest';
import type { Typed } from '../add-command.ts';
import { checksumLines } from '../backup/checksums.ts';
import { requiredVariable } from '../config.ts';
import { usage, type CliContext } from '../context.ts';
import { FAMILY_CODECS } from '../families.ts';
import { gatewayVersion } from '../gateway-version.ts';
import { requireAbsent } from './keys/write-wallet.ts';

export interface BackupOptions extends Typed<'keystore' | 'policy' | 'publicKeys' | 'networksFile'> {
  readonly out: string;
  readonly databaseOnly?: boolean;
}

const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;
const FILE_NAMES: Readonly<Record<KeptFileRole, string>> = {
  keystore: 'keystore.json',
  policy: 'policy.json',
  publicKeys: 'public-keys.json',
  networks: 'networks.json',
};

/**
 * Writes all files or none, while the gateway runs. Keystore and policy stay sealed; passphrase and SECRETS_KEY are not
 * in the backup.
 */
export async function backUp(context: CliContext, options: BackupOptions): Promise<void> {
  const adminUrl = requiredVariable(context, 'DATABASE_ADMIN_URL');
  const out = resolve(options.out);
  await requireAbsent(out);
  const sources = filesToKeep(context, options);
  const seedFingerprint = await fingerprintOf(sources, context.keystoreCost);
  const partial = join(dirname(out), `.${basename(out)}.${randomBytes(6).toString('hex')}.partial`);
  await mkdir(join(partial, 'tables'), { recursive: true, mode: DIRECTORY_MODE });
  await chmod(partial, DIRECTORY_MODE);
  try {
    const database = await exportDatabase(adminUrl, partial);
    const manifest: Manifest = {
      format: FORMAT,
      formatVersion: FORMAT_VERSION,
      backupId: `${database.takenAt.replaceAll(/[-:]|\.\d+/g, '')}-${randomBytes(4).toString('hex')}`,
      gatewayVersion: await gatewayVersion(),
      ...database,
      seedFingerprint,
      files: await keepFiles(partial, sources),
    };
    await seal(partial, manifest);
    await rename(partial, out);
    await syncFile(dirname(out));
    report(context, out, manifest);
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw error;
  }
}

type Sources = Readonly<Partial<Record<KeptFileRole, string>>>;

function filesToKeep({ env }: CliContext, options: BackupOptions): Sources {
  const sources: Record<KeptFileRole, string | undefined> = {
    keystore: options.keystore ?? env['KEYSTORE_FILE'],
    policy: options.policy ?? env['POLICY_FILE'],
    publicKeys: options.publicKeys ?? env['PUBLIC_KEYS_FILE'],
    networks: options.networksFile ?? env['NETWORKS_FILE'],
  };
  const isSet = (role: KeptFileRole) => (sources[role] ?? '') !== '';
  if (options.databaseOnly === true) {
    if (options.keystore !== undefined || options.policy !== undefined)
      throw usage('--database-only excludes keystore and policy; remove --keystore and --policy.');
    return kept(sources, ['publicKeys', 'networks']);
  }
  const missing = (['keystore', 'publicKeys', 'networks'] as const).filter((role) => !isSet(role));
  if (missing.length > 0) {
    const names = { keystore: '--keystore', publicKeys: '--public-keys', networks: '--networks-file' };
    throw usage(
      `Give ${missing.map((role) => names[role]).join(', ')}, or --database-only if keys are stored elsewhere.`,
    );
  }
  return kept(sources, ['keystore', 'policy', 'publicKeys', 'networks']);
}

function kept(sources: Record<KeptFileRole, string | undefined>, roles: readonly KeptFileRole[]): Sources {
  return Object.fromEntries(
    roles.flatMap((role) => {
      const path = sources[role];
      return path === undefined || path === '' ? [] : [[role, path]];
    }),
  );
}

/** Checks that each file has the expected format, that the keystore is sealed, and that all belong to one seed. */
async function fingerprintOf(sources: Sources, cost?: number): Promise<string | null> {
  const { keystore, policy, publicKeys } = sources;
  const ofKeys =
    publicKeys === undefined ? null : (await readPublicKeys(publicKeys, FAMILY_CODECS)).fingerprint;
  const ofKeystore = keystore === undefined ? null : await identifyKeystore(keystore, 'seed', cost);
  if (policy !== undefined) await identifyKeystore(policy, 'policy', cost);
  if (ofKeys !== null && ofKeystore !== null && ofKeys !== ofKeystore)
    throw usage(`${keystore} belongs to the seed ${ofKeystore}, ${publicKeys} to ${ofKeys}.`);
  return ofKeystore ?? ofKeys;
}

async function keepFiles(directory: string, sources: Sources): Promise<readonly KeptFile[]> {
  const files: KeptFile[] = [];
  for (const [role, path] of Object.entries(sources) as [KeptFileRole, string][]) {
    const file = FILE_NAMES[role];
    await copyFile(path, join(directory, file));
    await chmod(join(directory, file), FILE_MODE);
    await syncFile(join(directory, file));
    files.push({ role, file });
  }
  return files;
}

async function seal(directory: string, manifest: Manifest): Promise<void> {
  await writeFile(join(directory, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`, {
    mode: FILE_MODE,
  });
  const files = [
    MANIFEST_FILE,
    ...manifest.tables.map(({ file }) => file),
    ...manifest.files.map(({ file }) => file),
  ];
  await writeFile(join(directory, SUMS_FILE), await checksumLines(directory, files), { mode: FILE_MODE });
  for (const path of [MANIFEST_FILE, SUMS_FILE, 'tables', '.']) await syncFile(join(directory, path));
}

function report({ print }: CliContext, out: string, manifest: Manifest): void {
  const { takenAt, tables, families, files, seedFingerprint } = manifest;
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  print(`${out}: backup as of ${takenAt}, ${rows} rows of ${tables.length} tables.`);
  for (const [family, { nextIndex }] of Object.entries(families))
    if (nextIndex > 0)
      print(
        `Next deposit index ${family}: ${nextIndex}. Store it outside the backup too (keys recover --mark).`,
      );
  if (files.some(({ role }) => role === 'keystore'))
    print(
      `Contains the sealed keystore of the seed ${seedFingerprint}, but neither its passphrase nor SECRETS_KEY: store them elsewhere.`,
    );
  else print('Does not contain the keystore. Store it, its passphrase and SECRETS_KEY elsewhere.');
}
