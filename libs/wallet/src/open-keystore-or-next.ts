import { access } from 'node:fs/promises';
import { GatewayError } from '@opentill/domain/gateway-error';
import { openKeystore, type KeystorePurpose, type OpenedKeystore } from './keystore.ts';

/** Where a change of passphrase writes what is to take the place of `path`. */
export function nextFileOf(path: string): string {
  return `${path}.next`;
}

/**
 * Opens a keystore, or the one that a change of passphrase wrote beside it and could not put into its place any more,
 * if that is what the passphrase opens. Throws what openKeystore throws.
 */
export async function openKeystoreOrNext(
  path: string,
  purpose: KeystorePurpose,
  passphrase: string,
): Promise<OpenedKeystore & { readonly isNext: boolean }> {
  try {
    return { ...(await openKeystore(path, purpose, passphrase)), isNext: false };
  } catch (error) {
    const isWrong = error instanceof GatewayError && error.code === 'KEYSTORE_WRONG_PASSPHRASE';
    if (!isWrong || !(await isThere(nextFileOf(path)))) throw error;
    const opened = await openKeystore(nextFileOf(path), purpose, passphrase).catch(() => undefined);
    if (opened === undefined) throw error;
    return { ...opened, isNext: true };
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
