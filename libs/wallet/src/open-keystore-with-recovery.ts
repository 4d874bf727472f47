import { access } from 'node:fs/promises';
import { GatewayError } from '@opentill/domain/gateway-error';
import { openKeystore, type KeystorePurpose, type OpenedKeystore } from './keystore.ts';

/** A change of passphrase writes it before it replaces `path`. */
export function nextFileOf(path: string): string {
  return `${path}.next`;
}

/** Opens the `.next` file only if `path` does not accept the passphrase. Throws the errors of openKeystore. */
export async function openKeystoreWithRecovery(
  path: string,
  purpose: KeystorePurpose,
  passphrase: string,
  cost?: number,
): Promise<OpenedKeystore & { readonly isNext: boolean }> {
  try {
    return { ...(await openKeystore(path, purpose, passphrase, cost)), isNext: false };
  } catch (error) {
    const isWrong = error instanceof GatewayError && error.code === 'KEYSTORE_WRONG_PASSPHRASE';
    if (!isWrong || !(await exists(nextFileOf(path)))) throw error;
    const opened = await openKeystore(nextFileOf(path), purpose, passphrase, cost).catch(() => undefined);
    if (opened === undefined) throw error;
    return { ...opened, isNext: true };
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
