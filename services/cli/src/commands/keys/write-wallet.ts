import { access, rm } from 'node:fs/promises';
import { NETWORK_KINDS } from '@opentill/domain/chains';
import { createKeystore } from '@opentill/wallet/keystore';
import { publicKeysOf, writePublicKeys, type PublicKeys } from '@opentill/wallet/public-keys';
import { usage, type CliContext } from '../../context.ts';
import { FAMILY_CODECS } from '../../families.ts';

export interface WalletFiles {
  readonly keystore: string;
  readonly publicKeys: string;
}

/** Writes both files or neither. Does not zero `seed`. Throws a WalletErrorCode. */
export async function writeWallet(
  seed: Uint8Array,
  files: WalletFiles,
  passphrase: string,
  cost: number | undefined,
): Promise<PublicKeys> {
  const publicKeys = publicKeysOf(seed, FAMILY_CODECS);
  await writePublicKeys(files.publicKeys, publicKeys);
  try {
    const contents = { purpose: 'seed', keyId: publicKeys.fingerprint, secret: seed } as const;
    await createKeystore(files.keystore, contents, passphrase, { cost });
  } catch (error) {
    await rm(files.publicKeys, { force: true }); // without a keystore no transaction could spend from these addresses
    throw error;
  }
  return publicKeys;
}

/** Call it before any secret is typed, shown or written. Throws CLI_USAGE. */
export async function requireAbsent(...files: readonly string[]): Promise<void> {
  for (const file of files)
    if (await fileExists(file)) throw usage(`${file} already exists and is not overwritten.`);
}

export function fileExists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

export function printWallet(
  context: Pick<CliContext, 'print'>,
  files: WalletFiles,
  publicKeys: PublicKeys,
): void {
  context.print(`Keystore ${files.keystore} (only for payout-signer), public keys ${files.publicKeys}.`);
  for (const kind of NETWORK_KINDS) {
    const of = kind === 'main' ? '' : ', test networks';
    for (const [family, keys] of Object.entries(publicKeys[kind] ?? {}))
      for (const address of keys.hotWallets) context.print(`Hot wallet ${family}${of}: ${address}`);
  }
}
