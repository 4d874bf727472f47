import { openKeystore } from '@opentill/wallet/keystore';
import { publicKeysOf, type PublicKeys } from '@opentill/wallet/public-keys';
import type { CliContext } from '../../context.ts';
import { askPassphrase } from './ask-passphrase.ts';
import { FAMILY_CODECS } from '../../families.ts';

/** Zeroes the seed afterwards. Throws NO_TERMINAL or a WalletErrorCode. */
export async function publicKeysOfKeystore(
  context: Pick<CliContext, 'askSecret' | 'keystoreCost'>,
  keystore: string,
  passphraseFile: string | undefined,
): Promise<PublicKeys> {
  const passphrase = await askPassphrase(context, passphraseFile);
  const { secret } = await openKeystore(keystore, 'seed', passphrase, context.keystoreCost);
  try {
    return publicKeysOf(secret, FAMILY_CODECS);
  } finally {
    secret.fill(0);
  }
}
