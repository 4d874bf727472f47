import { Argument, type Command } from 'commander';
import { DEFAULT_JUMP } from '@opentill/db/backup/index-jump';
import { needed, option, type AddCommand } from './add-command.ts';
import { backUp } from './commands/backup.ts';
import { decidePayment, decidePayout } from './commands/restore-decide.ts';
import { findForgottenMoney } from './commands/restore-money.ts';
import { reconcileRestore, releaseRestore } from './commands/restore-reconcile.ts';
import { restore, type RestoreOptions } from './commands/restore.ts';
import type { CliContext } from './context.ts';

/** `opentill backup`, `opentill restore …` */
export function addBackup(program: Command, add: AddCommand): void {
  const kept = [
    needed('--out <directory>', 'a directory that is not there yet'),
    option('--database-only', 'without keystore and policy, where they are kept apart'),
    option('--keystore <file>', 'default: KEYSTORE_FILE'),
    option('--policy <file>', 'default: POLICY_FILE'),
    option('--public-keys <file>', 'default: PUBLIC_KEYS_FILE'),
    option('--networks-file <file>', 'default: NETWORKS_FILE'),
  ];
  const backup =
    'everything of this gateway into a new directory, beside the running services; without passphrase and SECRETS_KEY';
  add(program, 'backup', backup, kept, backUp);
  const whereTo = [
    option('--from <directory>', 'the backup'),
    option('--keystore <file>', 'where the sealed keystore goes'),
    option('--policy <file>', 'where the sealed policy goes'),
    option('--public-keys <file>', 'where the public key file goes, or lies where keys are kept apart'),
    option('--networks-file <file>', 'where the network file goes'),
    option(
      '--jump-minimum <addresses>',
      `pass over at least so many deposit addresses a day (${DEFAULT_JUMP.minimum})`,
    ),
    option(
      '--jump-factor <factor>',
      `and so many times the highest rate for the time away (${DEFAULT_JUMP.factor})`,
    ),
  ];
  const bringBack =
    'bring a backup back into an empty database; nothing is signed before reconcile and release';
  // Commander would demand a needed option of the subcommands as well.
  const run = async (context: CliContext, { from, ...options }: Partial<RestoreOptions>): Promise<void> => {
    if (from === undefined) return command.error("error: required option '--from <directory>' not specified");
    await restore(context, { ...options, from });
  };
  const command: Command = add(program, 'restore', bringBack, whereTo, run).enablePositionalOptions();
  addAfterRestore(command, add);
}

/** What is to be done between a restore and the first signature. */
function addAfterRestore(command: Command, add: AddCommand): void {
  const cold = option('--cold <addresses...>', 'cold storage that no sweep of the backup went to');
  const reason = needed('--reason <text>');
  const reconcile =
    'hold the wallets against their chains: what they paid since the backup, and what is to be decided';
  const chain = option('--chain <chain>', 'this chain alone, enabled or not');
  add(command, 'reconcile', reconcile, [chain, cold], reconcileRestore);
  const whose = [
    option('--order <order>', 'order id or key of a payout that asks for just that'),
    option('--order-lost', 'its order is in no database: booked as taken by the owner'),
    option(
      '--no-guard',
      'with --order-lost: do not stop later payouts of the same amount to the same receiver',
    ),
    reason,
  ];
  const payment = 'say whose a payment was that the backup does not know';
  add(command, 'decide-payment <txid>', payment, whose, decidePayment);
  const payout = 'say what becomes of a payout that was unsigned when the backup was taken and is not paid';
  const decisions = [option('--pay', 'pay it now'), option('--refuse'), reason];
  add(
    command,
    'decide-payout',
    payout,
    [new Argument('<order>', 'order id or key'), ...decisions],
    decidePayout,
  );
  const release = 'let the reconciled wallets sign again, in the name of the operator of OPS_TOKEN_FILE';
  const released = [option('--chain <chain>', 'this chain alone'), cold, reason];
  add(command, 'release', release, released, releaseRestore);
  const searched = [
    needed('--public-keys <file>'),
    option('--gap <addresses>', 'stop after so many without money behind the last order', '100000'),
    option('--report <file>', 'into a new CSV file as well'),
  ];
  const money = 'list money on deposit addresses whose orders were made after the backup';
  add(command, 'money', money, searched, findForgottenMoney);
}
