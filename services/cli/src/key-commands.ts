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
  needed('--keystore <file>', 'where to write the encrypted keystore'),
  needed('--public-keys <file>', 'where to write the public key file'),
];

export function addKeys(program: Command, add: AddCommand): void {
  const keys = program.command('keys').description('the wallet');
  const wordsTo = 'write the words into a new file that only you can read (otherwise shown once)';
  const made = [...FILES, PASSPHRASE_FILE, option('--words-to <file>', wordsTo)];
  add(keys, 'init', 'create a new wallet: words, encrypted keystore, public key file', made, initKeys);
  const imported = [...FILES, WORDS_FILE, PASSPHRASE_FILE];
  add(keys, 'import', 'create the files of a wallet from its 12 to 24 words', imported, importKeys);
  const renew = 'write the public key file again from the keystore, after an update with more families';
  add(keys, 'renew-public', renew, [...FILES, PASSPHRASE_FILE], renewPublicKeys);
  const xpub = 'show extended public keys and hot wallets; with both files, check that they belong together';
  const shown = [
    option('--keystore <file>', 'derive them from the encrypted keystore'),
    option('--public-keys <file>', 'read them from the public key file; needs no passphrase'),
    PASSPHRASE_FILE,
  ];
  add(keys, 'show-xpub', xpub, shown, showXpub);
  const sealed = [
    needed('--keystore <file>', 'the encrypted keystore'),
    option('--policy <file>', 'the policy that is sealed with the same passphrase'),
    option('--no-policy', 'there is none'),
    PASSPHRASE_FILE,
    option('--new-passphrase-file <file>', 'file with the new passphrase (otherwise asked for)'),
  ];
  const change = 'seal the keystore, and the policy with it, with another passphrase';
  add(keys, 'change-passphrase', change, sealed, replacePassphrase);
  const recover = 'restore the wallet on an empty machine from its words and marks, and list all its money';
  const searched = [
    ...imported,
    option('--mark <family=index...>', 'next index of the deposit addresses: EVM=1200'),
    option(
      '--marks-from-database',
      'read the marks from the database (or a restored backup) at OPS_DATABASE_URL',
    ),
    option('--gap <addresses>', 'how many to search above the mark, and above the last with money', '1000'),
    option('--chain <chain...>', 'only these, enabled or not'),
    option('--networks-file <file>', 'default: NETWORKS_FILE'),
    option(
      '--report <file>',
      'write every address to a new CSV file; the terminal shows only those with money',
    ),
  ];
  add(keys, 'recover', recover, searched, recoverKeys);
}
