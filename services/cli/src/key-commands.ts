import type { Command } from 'commander';
import { needed, option, PASSPHRASE_FILE, type AddCommand } from './add-command.ts';
import { importKeys } from './commands/keys/import-keys.ts';
import { initKeys } from './commands/keys/init-keys.ts';
import { recoverKeys } from './commands/keys/recover-keys.ts';
import { renewPublicKeys } from './commands/keys/renew-public-keys.ts';
import { replacePassphrase } from './commands/keys/replace-passphrase.ts';
import { showXpub } from './commands/keys/show-xpub.ts';

const WORDS_FILE = option('--words-file <file>', 'file with the words (otherwise asked for)');
const FILES = [
  needed('--keystore <file>', 'where the encrypted keystore goes'),
  needed('--public-keys <file>', 'where the public key file goes'),
];

/** `opentill keys …` */
export function addKeys(program: Command, add: AddCommand): void {
  const keys = program.command('keys').description('the wallet');
  const wordsTo = 'write the words into a new file for yourself alone (otherwise shown once)';
  const made = [...FILES, PASSPHRASE_FILE, option('--words-to <file>', wordsTo)];
  add(keys, 'init', 'make a new wallet: words, encrypted keystore, public key file', made, initKeys);
  const imported = [...FILES, WORDS_FILE, PASSPHRASE_FILE];
  add(keys, 'import', 'make the files of a wallet from its 12 to 24 words', imported, importKeys);
  const renew = 'write the public key file anew from the keystore: after an update that knows more families';
  add(keys, 'renew-public', renew, [...FILES, PASSPHRASE_FILE], renewPublicKeys);
  const xpub = 'extended public keys and hot wallets; with both files, whether they belong together';
  const shown = [
    option('--keystore <file>', 'derive them from the encrypted keystore'),
    option('--public-keys <file>', 'as the public key file has them; needs no passphrase'),
    PASSPHRASE_FILE,
  ];
  add(keys, 'show-xpub', xpub, shown, showXpub);
  const sealed = [
    needed('--keystore <file>', 'the encrypted keystore'),
    option('--policy <file>', 'the policy that is sealed by the same passphrase'),
    option('--no-policy', 'there is none'),
    PASSPHRASE_FILE,
    option('--new-passphrase-file <file>', 'file with the new passphrase (otherwise asked for)'),
  ];
  const change = 'seal the keystore, and the policy with it, by another passphrase';
  add(keys, 'change-passphrase', change, sealed, replacePassphrase);
  const recover = 'from the words and the kept marks on an empty machine: the wallet, and all its money';
  const searched = [
    ...imported,
    option('--mark <family=index...>', 'next index of the deposit addresses: EVM=1200'),
    option(
      '--marks-from-database',
      'take the marks from the database (or a restored backup) at OPS_DATABASE_URL',
    ),
    option(
      '--gap <addresses>',
      'how many to look at behind the mark, and behind the last with money',
      '1000',
    ),
    option('--chain <chain...>', 'these alone, enabled or not'),
    option('--networks-file <file>', 'default: NETWORKS_FILE'),
    option('--report <file>', 'every address into a new CSV file, and only those with money on the terminal'),
  ];
  add(keys, 'recover', recover, searched, recoverKeys);
}
