import type { Command } from 'commander';
import { DEFAULT_JUMP } from '@opentill/db/backup/index-jump';
import { backUp, type BackupOptions } from './commands/backup.ts';
import {
  decidePayment,
  decidePayout,
  type PaymentDecision,
  type PayoutDecision,
} from './commands/restore-decide.ts';
import { findForgottenMoney, type RestoreMoneyOptions } from './commands/restore-money.ts';
import {
  reconcileRestore,
  releaseRestore,
  type ReconcileRestoreOptions,
  type ReleaseOptions,
} from './commands/restore-reconcile.ts';
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
    .enablePositionalOptions()
    .description('bring a backup back into an empty database; nothing is signed before reconcile and release')
    .option('--from <directory>', 'the backup')
    .option('--keystore <file>', 'where the sealed keystore goes')
    .option('--policy <file>', 'where the sealed policy goes')
    .option('--public-keys <file>', 'where the public key file goes, or lies where keys are kept apart')
    .option('--networks-file <file>', 'where the network file goes')
    .option(
      '--jump-minimum <addresses>',
      `pass over at least so many deposit addresses a day (${DEFAULT_JUMP.minimum})`,
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
  addAfterRestore(command, context);
}

const COLD = ['--cold <addresses...>', 'cold storage that no sweep of the backup went to'] as const;

/** What is to be done between a restore and the first signature. */
function addAfterRestore(command: Command, context: CliContext): void {
  command
    .command('reconcile')
    .description(
      'hold the wallets against their chains: what they paid since the backup, and what is to be decided',
    )
    .option('--chain <chain>', 'this chain alone, enabled or not')
    .option(...COLD)
    .action((options: ReconcileRestoreOptions) => reconcileRestore(context, options));
  command
    .command('decide-payment')
    .description('say whose a payment was that the backup does not know')
    .argument('<txid>')
    .option('--order <order>', 'order id or key of a payout that asks for just that')
    .option('--order-lost', 'its order is in no database: booked as taken by the owner')
    .option(
      '--no-guard',
      'with --order-lost: do not stop later payouts of the same amount to the same receiver',
    )
    .requiredOption('--reason <text>')
    .action((txHash: string, options: PaymentDecision) => decidePayment(context, txHash, options));
  command
    .command('decide-payout')
    .description('say what becomes of a payout that was unsigned when the backup was taken and is not paid')
    .argument('<order>', 'order id or key')
    .option('--pay', 'pay it now')
    .option('--refuse')
    .requiredOption('--reason <text>')
    .action((order: string, options: PayoutDecision) => decidePayout(context, order, options));
  command
    .command('release')
    .description('let the reconciled wallets sign again, in the name of the operator of OPS_TOKEN_FILE')
    .option('--chain <chain>', 'this chain alone')
    .option(...COLD)
    .requiredOption('--reason <text>')
    .action((options: ReleaseOptions) => releaseRestore(context, options));
  command
    .command('money')
    .description('list money on deposit addresses whose orders were made after the backup')
    .requiredOption('--public-keys <file>')
    .option('--gap <addresses>', 'stop after so many without money behind the last order', '100000')
    .option('--report <file>', 'into a new CSV file as well')
    .action((options: RestoreMoneyOptions) => findForgottenMoney(context, options));
}
