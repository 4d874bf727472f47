import { rename, rm } from 'node:fs/promises';
import { createKeystore, openKeystore, type KeystorePurpose, type OpenedKeystore } from './keystore.ts';
import { nextFileOf, openKeystoreOrNext } from './open-keystore-or-next.ts';
import { syncDirectoryOf } from './write-file-atomically.ts';

/** A moment between two writes, when the process may die. */
export type PassphraseChangeStep = 'SEED_SEALED' | 'POLICY_SEALED' | 'SEED_IN_PLACE';

export interface PassphraseChange {
  readonly keystoreFile: string;
  /** A policy that is sealed by the same passphrase. */
  readonly policyFile?: string;
  readonly oldPassphrase: string;
  readonly newPassphrase: string;
  /** Told of each step that is on disk. */
  readonly onStep?: (step: PassphraseChangeStep) => void;
}

/**
 * Seals the seed, and the policy with it, by another passphrase.
 *
 * Two files cannot be renamed at once, so the rename of the keystore is the change. Before it, both new files are
 * complete beside the old ones (`.next`) and were read back: whoever dies here leaves two old files that the old
 * passphrase opens. After it the new passphrase opens the keystore, and the policy at its place or beside it, where
 * openPolicy and the next change find it. Nothing is removed before what replaces it opens.
 *
 * Throws before anything is changed: PASSPHRASE_TOO_SHORT, and what openKeystore throws.
 */
export async function changePassphrase(change: PassphraseChange): Promise<void> {
  const { keystoreFile, policyFile, oldPassphrase, newPassphrase, onStep } = change;
  const seed = await openKeystore(keystoreFile, 'seed', oldPassphrase);
  try {
    await rm(nextFileOf(keystoreFile), { force: true });
    const policy = policyFile === undefined ? undefined : await openAndMendPolicy(policyFile, oldPassphrase);
    await sealNext(keystoreFile, 'seed', seed, newPassphrase);
    onStep?.('SEED_SEALED');
    if (policyFile !== undefined && policy !== undefined) {
      await sealNext(policyFile, 'policy', policy, newPassphrase);
      onStep?.('POLICY_SEALED');
    }
  } finally {
    seed.secret.fill(0);
  }
  await putIntoPlace(keystoreFile);
  onStep?.('SEED_IN_PLACE');
  if (policyFile !== undefined) await putIntoPlace(policyFile);
}

/** Opens the policy after finishing, or forgetting, what an earlier change left beside it. */
async function openAndMendPolicy(path: string, passphrase: string): Promise<OpenedKeystore> {
  const { isNext, ...policy } = await openKeystoreOrNext(path, 'policy', passphrase);
  if (isNext) await putIntoPlace(path);
  else await rm(nextFileOf(path), { force: true });
  return policy;
}

/** Writes the new file beside the old one, and reads it back: what cannot be read must replace nothing. */
async function sealNext(
  path: string,
  purpose: KeystorePurpose,
  { secret, keyId }: OpenedKeystore,
  passphrase: string,
): Promise<void> {
  await createKeystore(nextFileOf(path), { purpose, keyId, secret }, passphrase, path);
  const again = await openKeystore(nextFileOf(path), purpose, passphrase);
  again.secret.fill(0);
}

async function putIntoPlace(path: string): Promise<void> {
  await rename(nextFileOf(path), path);
  await syncDirectoryOf(path);
}
