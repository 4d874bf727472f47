import { readPublicKeys, writePublicKeys } from '@opentill/wallet/public-keys';
import { usage, type CliContext } from '../../context.ts';
import { FAMILY_CODECS } from '../../families.ts';
import { publicKeysOfKeystore } from './public-keys-of-keystore.ts';
import { fileExists, printWallet, type WalletFiles } from './write-wallet.ts';

export interface RenewPublicKeysOptions extends WalletFiles {
  readonly passphraseFile?: string;
}

/** A file of an older version lacks the hot wallets of newer families. Never replaces a file of another wallet. */
export async function renewPublicKeys(context: CliContext, options: RenewPublicKeysOptions): Promise<void> {
  const { keystore, publicKeys: file, passphraseFile } = options;
  const derived = await publicKeysOfKeystore(context, keystore, passphraseFile);
  if (await fileExists(file)) {
    const { fingerprint } = await readPublicKeys(file, FAMILY_CODECS);
    if (fingerprint !== derived.fingerprint)
      throw usage(
        `${file} belongs to the wallet ${fingerprint}, and ${keystore} to ${derived.fingerprint}. Nothing was written.`,
      );
  }
  await writePublicKeys(file, derived);
  printWallet(context, options, derived);
  context.print('Copy it to the api and the signer, and run opentill setup with it.');
}
