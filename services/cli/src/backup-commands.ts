import { Argument, type Command } from 'commander';
import { DEFAULT_JUMP } from '@opentill/db/backup/index-jump';
import { needed, option, type AddCommand } from './add-command.ts';
import { backUp } from './commands/backup.ts';
import { decidePayment, decidePayout } from './commands/restore-decide.ts';
import { findForgottenMoney } from './commands/restore-money.ts';
import { reconcileRestore, releaseRestore } from './commands/restore-reconcile.ts';
import { restore, type RestoreOptions } from './commands/restore.ts';
import type { CliContext } from './context.ts';

export function addBackup(program: Command, add: AddCommand): void {
  const kept = [
    needed('--out <directory>', 'a directory that does not exist yet'),
    option('--database-only', 'leave out keystore and policy, if they are stored elsewhere'),
    option('--keystore <file>', 'default: KEYSTORE_FILE'),
    option('--policy <file>', 'default: POLICY_FILE'),
    option('--public-keys <file>', 'default: PUBLIC_KEYS_FILE'),
    option('--networks-file <file>', 'default: NETWORKS_FILE'),
  ];
  const backup =
    'back up this gateway into a new directory while its services run; without passphrase and SECRETS_KEY';
  add(program, 'backup', backup, kept, backUp);
  const whereTo = [
    option('--from <directory>', 'the backup'),
    option('--keystore <file>', 'where to write the sealed keystore'),
    option('--policy <file>', 'where to write the sealed policy'),
    option(
      '--public-keys <file>',
      'where to write the public key file, or where it is if keys are stored elsewhere',
    ),
    option('--networks-file <file>', 'where to write the network file'),
    option(
      '--jump-minimum <addresses>',
      `minimum of deposit addresses skipped per day since the backup (${DEFAULT_JUMP.minimum})`,
    ),
    option(
      '--jump-factor <factor>',
      `or this multiple of the highest rate over that time, if it is more (${DEFAULT_JUMP.factor})`,
    ),
  ];
  const bringBack = 'restore a backup into an empty database; wallets sign only after reconcile and release';
  // A mandatory option here would also be mandatory for the subcommands.
  const run = async (context: CliContext, { from, ...options }: Partial<RestoreOptions>): Promise<void> => {
    if (from === undefined) return command.error("error: required option '--from <directory>' not specified");
    await restore(context, { ...options, from });
  };
  const command: Command = add(program, 'restore', bringBack, whereTo, run).enablePositionalOptions();
  addAfterRestore(command, add);
}

function addAfterRestore(command: Command, add: AddCommand): void {
  const cold = option('--cold <addresses...>', 'cold storage addresses that no sweep in the backup names');
  const reason = needed('--reason <text>');
  const reconcile =
    'compare the wallets with their chains: list payments since the backup and open decisions';
  const chain = option('--chain <chain>', 'only this chain, enabled or not');
  add(command, 'reconcile', reconcile, [chain, cold], reconcileRestore);
  const assignment = [
    option('--order <order>', 'order id or key of a payout with this receiver, token and amount'),
    option('--order-lost', 'its order is in no database; booked as a withdrawal by the owner'),
    option(
      '--no-guard',
      'with --order-lost: do not block later payouts of the same amount to the same receiver',
    ),
    reason,
  ];
  const payment = 'assign a payment that the backup does not know to its order';
  add(command, 'decide-payment <txid>', payment, assignment, decidePayment);
  const payout = 'pay or refuse a payout that was unsigned at the backup and is not paid';
  const decisions = [option('--pay', 'pay it now'), option('--refuse'), reason];
  add(
    command,
    'decide-payout',
    payout,
    [new Argument('<order>', 'order id or key'), ...decisions],
    decidePayout,
  );
  const release = 'let the reconciled wallets sign again, as the operator of OPS_TOKEN_FILE';
  const released = [option('--chain <chain>', 'only this chain'), cold, reason];
  add(command, 'release', release, released, releaseRestore);
  const searched = [
    needed('--public-keys <file>'),
    option(
      '--gap <addresses>',
      'stop after this many addresses without money above the last order',
      '100000',
    ),
    option('--report <file>', 'also write a new CSV file'),
  ];
  const money = 'list money on deposit addresses of orders created after the backup';
  add(command, 'money', money, searched, findForgottenMoney);
}
