import { rm } from 'node:fs/promises';
import { generateMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { writeFileAtomically } from '@opentill/wallet/write-file-atomically';
import type { CliContext } from '../../context.ts';
import { askNewPassphrase } from './ask-passphrase.ts';
import { printWallet, requireAbsent, writeWallet, type WalletFiles } from './write-wallet.ts';

export interface InitKeysOptions extends WalletFiles {
  readonly passphraseFile?: string;
  /** New file for the words, which are then not printed, so that no log contains them. */
  readonly wordsTo?: string;
}

/** Never overwrites a file: a keystore whose words were not shown cannot be recovered. */
export async function initKeys(context: CliContext, options: InitKeysOptions): Promise<void> {
  const passphrase = await askNewPassphrase(context, options.passphraseFile);
  await requireAbsent(options.keystore, options.publicKeys);
  const words = generateMnemonic();
  const seed = seedOf(words);
  try {
    const { wordsTo } = options;
    if (wordsTo !== undefined)
      await writeFileAtomically(wordsTo, `${words}\n`, { mode: 0o600, replace: false });
    const publicKeys = await writeWallet(seed, options, passphrase, context.keystoreCost).catch(
      async (error: unknown) => {
        if (wordsTo !== undefined) await rm(wordsTo, { force: true }); // no wallet belongs to them
        throw error;
      },
    );
    if (wordsTo === undefined) showWords(context, words);
    else
      context.print(
        `The 24 words are in ${wordsTo}. They control the money: write them on paper, then remove the file.`,
      );
    printWallet(context, options, publicKeys);
  } finally {
    seed.fill(0);
  }
}

function showWords({ print }: CliContext, words: string): void {
  print('Write these 24 words on paper. They are shown once, and they control the money:');
  print('');
  words.split(' ').forEach((word, i) => print(`  ${String(i + 1).padStart(2)}  ${word}`));
  print('');
}
