import { parseMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { readWordsFile } from '@opentill/wallet/read-words-file';
import type { CliContext } from '../../context.ts';
import { askNewPassphrase } from './ask-passphrase.ts';
import { printWallet, requireAbsent, writeWallet, type WalletFiles } from './write-wallet.ts';

export interface ImportOptions extends WalletFiles {
  readonly wordsFile?: string;
  readonly passphraseFile?: string;
}

/** Never overwrites a file. MNEMONIC_INVALID names positions, never words. */
export async function importKeys(context: CliContext, options: ImportOptions): Promise<void> {
  await requireAbsent(options.keystore, options.publicKeys);
  const seed = await askWords(context, options.wordsFile);
  try {
    const passphrase = await askNewPassphrase(context, options.passphraseFile);
    const publicKeys = await writeWallet(seed, options, passphrase, context.keystoreCost);
    context.print(`Wallet ${publicKeys.fingerprint}.`);
    printWallet(context, options, publicKeys);
  } finally {
    seed.fill(0);
  }
}

/** The caller zeroes the seed. Rejects wrong words before it asks for a passphrase. */
async function askWords(context: CliContext, file: string | undefined): Promise<Uint8Array> {
  const text =
    file === undefined ? await context.askSecret('The words, on one line') : await readWordsFile(file);
  return seedOf(parseMnemonic(text));
}
