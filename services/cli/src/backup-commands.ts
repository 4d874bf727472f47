import type { Command } from 'commander';
import { DEFAULT_JUMP } from './backup/index-jump.ts';
import { backUp, type BackupOptions } from './commands/backup.ts';
import { restore, type RestoreOptions } from './commands/restore.ts';
import type { CliContext } from './context.ts';

/** `opentill backup`, `opentill restore …` */
export function addBackup(program: Command, context: CliContext): void {
  program
    .command('backup')
    .description(
      'everything of this gateway into a new directory, beside the running services; without passphrase and SECRETS_KEY',
    )
    .requiredOption('--out <directory>', 'a directory that is not there yet')
    .option('--database-only', 'without keystore and policy, where they are kept apart')
    .option('--keystore <file>', 'default: KEYSTORE_FILE')
    .option('--policy <file>', 'default: POLICY_FILE')
    .option('--public-keys <file>', 'default: PUBLIC_KEYS_FILE')
    .option('--networks-file <file>', 'default: NETWORKS_FILE')
    .action((options: BackupOptions) => backUp(context, options));
  const command = program
    .command('restore')
    .description('bring a backup back into an empty database; nothing is signed before reconcile and release')
    .option('--from <directory>', 'the backup')
    .option('--keystore <file>', 'where the sealed keystore goes')
    .option('--policy <file>', 'where the sealed policy goes')
    .option('--public-keys <file>', 'where the public key file goes, or lies where keys are kept apart')
    .option('--networks-file <file>', 'where the network file goes')
    .option(
      '--jump-minimum <addresses>',
      `pass over at least so many deposit addresses (${DEFAULT_JUMP.minimum})`,
    )
    .option(
      '--jump-factor <factor>',
      `and so many times the highest rate for the time away (${DEFAULT_JUMP.factor})`,
    )
    .action((options: Partial<RestoreOptions>) => {
      const { from } = options;
      if (from === undefined)
        return command.error("error: required option '--from <directory>' not specified");
      return restore(context, { ...options, from });
    });
}
