import { rename, rm } from 'node:fs/promises';
import { createKeystore, openKeystore, type KeystorePurpose, type OpenedKeystore } from './keystore.ts';
import { nextFileOf, openKeystoreWithRecovery } from './open-keystore-with-recovery.ts';
import { syncDirectoryOf } from './write-file-atomically.ts';

/** Complete on disk. The process may die after each of these steps. */
export type PassphraseChangeStep = 'SEED_SEALED' | 'POLICY_SEALED' | 'SEED_IN_PLACE';

export interface PassphraseChange {
  readonly keystoreFile: string;
  readonly policyFile?: string;
  readonly oldPassphrase: string;
  readonly newPassphrase: string;
  readonly onStep?: (step: PassphraseChangeStep) => void;
}

/**
 * Two files cannot be renamed at once, so renaming the keystore is the commit. Before it, both new files are complete
 * in `.next` files and were read back; after a crash the old passphrase still opens both files. After it, the new
 * passphrase opens the keystore, and the policy at its path or in its `.next` file, where openPolicy and the next
 * change find it.
 * @throws before any file changes: PASSPHRASE_TOO_SHORT and the errors of openKeystore
 */
export async function changePassphrase(change: PassphraseChange): Promise<void> {
  const { keystoreFile, policyFile, oldPassphrase, newPassphrase, onStep } = change;
  const seed = await openKeystore(keystoreFile, 'seed', oldPassphrase);
  try {
    await rm(nextFileOf(keystoreFile), { force: true });
    const policy =
      policyFile === undefined ? undefined : await openAndRepairPolicy(policyFile, oldPassphrase);
    await sealNext(keystoreFile, 'seed', seed, newPassphrase);
    onStep?.('SEED_SEALED');
    if (policyFile !== undefined && policy !== undefined) {
      await sealNext(policyFile, 'policy', policy, newPassphrase);
      onStep?.('POLICY_SEALED');
    }
  } finally {
    seed.secret.fill(0);
  }
  await replaceByNext(keystoreFile);
  onStep?.('SEED_IN_PLACE');
  if (policyFile !== undefined) await replaceByNext(policyFile);
}

/** Completes or discards the `.next` file of an interrupted change. */
async function openAndRepairPolicy(path: string, passphrase: string): Promise<OpenedKeystore> {
  const { isNext, ...policy } = await openKeystoreWithRecovery(path, 'policy', passphrase);
  if (isNext) await replaceByNext(path);
  else await rm(nextFileOf(path), { force: true });
  return policy;
}

/** Reads the `.next` file back, so that an unreadable file never replaces a good one. */
async function sealNext(
  path: string,
  purpose: KeystorePurpose,
  { secret, keyId }: OpenedKeystore,
  passphrase: string,
): Promise<void> {
  await createKeystore(nextFileOf(path), { purpose, keyId, secret }, passphrase, { like: path });
  const again = await openKeystore(nextFileOf(path), purpose, passphrase);
  again.secret.fill(0);
}

async function replaceByNext(path: string): Promise<void> {
  await rename(nextFileOf(path), path);
  await syncDirectoryOf(path);
}
