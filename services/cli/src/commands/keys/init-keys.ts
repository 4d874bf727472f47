import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import type { CliContext } from '../../context.ts';
import { askNewPassphrase } from './ask-passphrase.ts';
import { printWallet, requireAbsent, writeWallet, type WalletFiles } from './write-wallet.ts';

/**
 * Makes a new wallet: 24 words shown once, an encrypted keystore for payout-signer, and the public key file for
 * everybody else. Never overwrites a file: a keystore whose words were never shown is worse than none.
 * @throws GatewayError CLI_USAGE, NO_TERMINAL, or a WalletErrorCode
 */
export async function initKeys(
  context: CliContext,
  options: WalletFiles & { readonly passphraseFile?: string },
): Promise<void> {
  const passphrase = await askNewPassphrase(context, options.passphraseFile);
  await requireAbsent(options);
  const words = generateMnemonic();
  const seed = seedOf(words);
  try {
    const publicKeys = await writeWallet(seed, options, passphrase);
    context.print('Write these 24 words on paper. They are shown once, and they are the money:');
    context.print('');
    words.split(' ').forEach((word, i) => context.print(`  ${String(i + 1).padStart(2)}  ${word}`));
    context.print('');
    printWallet(context, options, publicKeys);
  } finally {
    seed.fill(0);
  }
}
