import type { Command } from 'commander';
import { importKeys, type ImportOptions } from './commands/keys/import-keys.ts';
import { initKeys, type InitKeysOptions } from './commands/keys/init-keys.ts';
import { recoverKeys, type RecoverOptions } from './commands/keys/recover-keys.ts';
import { renewPublicKeys, type RenewPublicKeysOptions } from './commands/keys/renew-public-keys.ts';
import { replacePassphrase, type ReplacePassphraseOptions } from './commands/keys/replace-passphrase.ts';
import { showXpub, type ShowXpubOptions } from './commands/keys/show-xpub.ts';
import type { CliContext } from './context.ts';

const PASSPHRASE_FILE = [
  '--passphrase-file <file>',
  'file with the passphrase (otherwise asked for)',
] as const;
const WORDS_FILE = ['--words-file <file>', 'file with the words (otherwise asked for)'] as const;

/** `opentill keys …` */
export function addKeys(program: Command, context: CliContext): void {
  const keys = program.command('keys').description('the wallet');
  withFiles(keys.command('init'))
    .description('make a new wallet: words, encrypted keystore, public key file')
    .option(...PASSPHRASE_FILE)
    .option('--words-to <file>', 'write the words into a new file for yourself alone (otherwise shown once)')
    .action((options: InitKeysOptions) => initKeys(context, options));
  withFiles(keys.command('import'))
    .description('make the files of a wallet from its 12 to 24 words')
    .option(...WORDS_FILE)
    .option(...PASSPHRASE_FILE)
    .action((options: ImportOptions) => importKeys(context, options));
  withFiles(keys.command('renew-public'))
    .description('write the public key file anew from the keystore: after an update that knows more families')
    .option(...PASSPHRASE_FILE)
    .action((options: RenewPublicKeysOptions) => renewPublicKeys(context, options));
  keys
    .command('show-xpub')
    .description('extended public keys and hot wallets; with both files, whether they belong together')
    .option('--keystore <file>', 'derive them from the encrypted keystore')
    .option('--public-keys <file>', 'as the public key file has them; needs no passphrase')
    .option(...PASSPHRASE_FILE)
    .action((options: ShowXpubOptions) => showXpub(context, options));
  keys
    .command('change-passphrase')
    .description('seal the keystore, and the policy with it, by another passphrase')
    .requiredOption('--keystore <file>', 'the encrypted keystore')
    .option('--policy <file>', 'the policy that is sealed by the same passphrase')
    .option('--no-policy', 'there is none')
    .option(...PASSPHRASE_FILE)
    .option('--new-passphrase-file <file>', 'file with the new passphrase (otherwise asked for)')
    .action((options: ReplacePassphraseOptions) => replacePassphrase(context, options));
  addRecover(keys, context);
}

function addRecover(keys: Command, context: CliContext): void {
  withFiles(keys.command('recover'))
    .description('from the words and the kept marks on an empty machine: the wallet, and all its money')
    .option(...WORDS_FILE)
    .option(...PASSPHRASE_FILE)
    .option('--mark <family=index...>', 'next index of the deposit addresses: EVM=1200')
    .option(
      '--marks-from-database',
      'take the marks from the database (or a restored backup) at OPS_DATABASE_URL',
    )
    .option(
      '--gap <addresses>',
      'how many to look at behind the mark, and behind the last with money',
      '1000',
    )
    .option('--chain <chain...>', 'these alone, enabled or not')
    .option('--networks-file <file>', 'default: NETWORKS_FILE')
    .option('--report <file>', 'every address into a new CSV file, and only those with money on the terminal')
    .action((options: RecoverOptions) => recoverKeys(context, options));
}

function withFiles(command: Command): Command {
  return command
    .requiredOption('--keystore <file>', 'where the encrypted keystore goes')
    .requiredOption('--public-keys <file>', 'where the public key file goes');
}
