import { randomUUID } from 'node:crypto';
import { copyFile, constants, mkdir, readFile, chmod, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { networkKindOf } from '@opentill/contracts/network-kind';
import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { FAMILIES, type NetworkKind } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { parsePublicKeys } from '@opentill/wallet/public-keys';
import { backupError } from '@opentill/db/backup/backup-error';
import { syncFile } from '@opentill/db/backup/export-database';
import { holdAfterRestore, type WalletOfFamily } from '@opentill/db/backup/hold-after-restore';
import { importDatabase } from '@opentill/db/backup/import-database';
import { DEFAULT_JUMP, planJumps, type JumpRules } from '@opentill/db/backup/index-jump';
import type { KeptFileRole, Manifest } from '@opentill/db/backup/manifest';
import type { Typed } from '../add-command.ts';
import { verifyBackup } from '../backup/checksums.ts';
import { requiredVariable } from '../config.ts';
import { usage, type CliContext } from '../context.ts';
import { FAMILY_CODECS } from '../families.ts';
import { fileExists } from './keys/write-wallet.ts';

export interface RestoreOptions extends Typed<
  'keystore' | 'policy' | 'publicKeys' | 'networksFile' | 'jumpMinimum' | 'jumpFactor'
> {
  readonly from: string;
}

const FILE_MODES: Readonly<Record<KeptFileRole, number>> = {
  keystore: 0o600,
  policy: 0o600,
  publicKeys: 0o640,
  networks: 0o644,
};

/**
 * The database at DATABASE_ADMIN_URL must be empty. Wallets sign only after `restore reconcile` and `restore release`.
 */
export async function restore(context: CliContext, options: RestoreOptions): Promise<void> {
  const adminUrl = requiredVariable(context, 'DATABASE_ADMIN_URL');
  const rules = readRules(options);
  const directory = resolve(options.from);
  const manifest = await verifyBackup(directory);
  const { files, takenAt } = manifest;
  const copies = await planCopies(directory, manifest, options);
  const awayMs = context.clock.now().getTime() - new Date(takenAt).getTime();
  const jumps = planJumps(manifest.families, awayMs, rules);
  const plan = {
    restoreId: randomUUID(),
    manifest,
    jumps,
    wallets: await walletsOf(context, directory, manifest, options),
  };
  const written: string[] = [];
  try {
    for (const copy of copies) {
      await writeCopy(copy);
      written.push(copy.to);
    }
    const held = await importDatabase(adminUrl, directory, manifest, (client) =>
      holdAfterRestore(client, plan),
    );
    context.print(`Restored as of ${takenAt} from the backup ${manifest.backupId}.`);
    for (const { family, next } of jumps)
      context.print(
        `${family}: deposit indexes continue at ${next}; payers may have received skipped addresses below it (restore money).`,
      );
    context.print(
      `${held.wallets} wallets are held, ${held.doubtfulPayouts} unsigned payouts wait. Next: opentill setup, start the services, then opentill restore reconcile.`,
    );
    const left = files.filter(({ role }) => !copies.some((copy) => copy.role === role));
    if (left.length > 0) context.print(`Left in the backup: ${left.map(({ file }) => file).join(', ')}.`);
  } catch (error) {
    for (const file of written) await rm(file, { force: true });
    throw error;
  }
}

interface Copy {
  readonly role: KeptFileRole;
  readonly from: string;
  readonly to: string;
}

async function planCopies(
  directory: string,
  { files }: Manifest,
  options: RestoreOptions,
): Promise<readonly Copy[]> {
  const targets: Readonly<Record<KeptFileRole, string | undefined>> = {
    keystore: options.keystore,
    policy: options.policy,
    publicKeys: options.publicKeys,
    networks: options.networksFile,
  };
  const copies: Copy[] = [];
  for (const [role, to] of Object.entries(targets) as [KeptFileRole, string | undefined][]) {
    if (to === undefined) continue;
    const kept = files.find((file) => file.role === role);
    const isHere = await fileExists(to);
    if (kept === undefined && role === 'publicKeys' && isHere) continue; // stored elsewhere, and already in place
    if (kept === undefined) throw usage(`The backup has no ${role}.`);
    if (isHere) throw backupError('RESTORE_NOT_EMPTY', `${to} already exists and is not overwritten`);
    copies.push({ role, from: join(directory, kept.file), to });
  }
  return copies;
}

/** COPYFILE_EXCL fails if another process has created the file in the meantime. */
async function writeCopy({ role, from, to }: Copy): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 });
  await copyFile(from, to, constants.COPYFILE_EXCL);
  await chmod(to, FILE_MODES[role]);
  await syncFile(to);
  await syncFile(dirname(resolve(to)));
}

/** Reads the backup's public key file, or the machine's if keys are stored elsewhere. */
async function walletsOf(
  context: CliContext,
  directory: string,
  manifest: Manifest,
  options: RestoreOptions,
): Promise<readonly WalletOfFamily[]> {
  const kept = manifest.files.find(({ role }) => role === 'publicKeys');
  const file = kept === undefined ? options.publicKeys : join(directory, kept.file);
  if (file === undefined) return [];
  const keys = parsePublicKeys(await readFile(file, 'utf8'), FAMILY_CODECS);
  const { fingerprint } = keys;
  if (manifest.seedFingerprint !== null && fingerprint !== manifest.seedFingerprint)
    throw backupError(
      'BACKUP_DAMAGED',
      `${file} belongs to the seed ${fingerprint}, the backup to ${manifest.seedFingerprint}`,
    );
  const kind = await kindOf(context, directory, manifest);
  const families = keys[kind] ?? keys.main; // in version 1 test networks used the wallets of main networks
  return FAMILIES.flatMap((family) => families[family].hotWallets.map((address) => ({ family, address })));
}

/** Uses the backup's networks, else this machine's; `main` without a network file. */
async function kindOf(context: CliContext, directory: string, { files }: Manifest): Promise<NetworkKind> {
  const kept = files.find(({ role }) => role === 'networks');
  const file = kept === undefined ? context.env['NETWORKS_FILE'] : join(directory, kept.file);
  if (file === undefined || file === '') return 'main';
  try {
    return networkKindOf(await readNetworkFile(file, context.env));
  } catch (error) {
    if (isMissing(error, file)) return 'main';
    // A guess might hold wallets of other keys.
    throw error;
  }
}

function isMissing(error: unknown, file: string): boolean {
  if (!(error instanceof GatewayError) || error.context['path'] !== file) return false;
  return (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
}

function readRules({ jumpMinimum, jumpFactor }: RestoreOptions): JumpRules {
  const minimum = jumpMinimum === undefined ? DEFAULT_JUMP.minimum : Number(jumpMinimum);
  const factor = jumpFactor === undefined ? DEFAULT_JUMP.factor : Number(jumpFactor);
  if (!Number.isSafeInteger(minimum) || minimum < 1)
    throw usage('--jump-minimum must be a number of addresses.');
  if (!(factor >= 1 && factor <= 1_000_000)) throw usage('--jump-factor must be 1 or more.');
  return { minimum, factor };
}
