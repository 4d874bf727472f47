import { FAMILIES, NETWORK_KINDS } from '@opentill/domain/chains';
import { DERIVATION_PATHS } from '@opentill/wallet/derivation';
import { readPublicKeys, type PublicKeys } from '@opentill/wallet/public-keys';
import { usage, type CliContext } from '../../context.ts';

import { FAMILY_CODECS } from '../../families.ts';
import { publicKeysOfKeystore } from './public-keys-of-keystore.ts';

export interface ShowXpubOptions {
  readonly keystore?: string;
  readonly publicKeys?: string;
  readonly passphraseFile?: string;
}

/** Reads the keystore's seed or the public key file; with both, checks that they are equal. */
export async function showXpub(context: CliContext, options: ShowXpubOptions): Promise<void> {
  const { keystore, publicKeys: file } = options;
  if (keystore === undefined && file === undefined) throw usage('Give --keystore or --public-keys.');
  const written = file === undefined ? undefined : await readPublicKeys(file, FAMILY_CODECS);
  const derived =
    keystore === undefined
      ? undefined
      : await publicKeysOfKeystore(context, keystore, options.passphraseFile);
  if (written !== undefined && derived !== undefined && JSON.stringify(written) !== JSON.stringify(derived))
    throw usage(
      `${file} does not contain the public keys of ${keystore}: it belongs to another wallet, or to another version (opentill keys renew-public).`,
    );
  const shown = derived ?? written;
  if (shown !== undefined) printKeys(context, shown);
}

function printKeys(context: CliContext, keys: PublicKeys): void {
  const { fingerprint } = keys;
  context.print(`Wallet ${fingerprint}. Keep extended public keys private: see SECURITY.md.`);
  for (const kind of NETWORK_KINDS) {
    const families = keys[kind];
    if (families === undefined) continue; // a file of version 1
    const of = kind === 'main' ? '' : ', test networks';
    for (const family of FAMILIES) {
      const { deposits, hotWallet } = DERIVATION_PATHS[kind][family];
      const shown = kind === 'main' ? '' : ' (test networks)';
      context.print(`${family.padEnd(4)}  ${deposits.padEnd(16)}  ${families[family].depositXpub}${shown}`);
      for (const address of families[family].hotWallets)
        context.print(`${family.padEnd(4)}  ${hotWallet.padEnd(16)}  ${address} (hot wallet${of})`);
    }
  }
}
