import { Command, Option } from 'commander';
import type { CliContext } from './context.ts';
import { addBackup } from './backup-commands.ts';
import { listTopUps, recordTopUp, undoTopUp } from './commands/book-top-up.ts';
import { examine } from './commands/doctor.ts';
import { explain } from './commands/explain.ts';
import {
  createMerchant,
  printMerchants,
  rotateMerchant,
  type RotateOptions,
} from './commands/manage-merchants.ts';
import { reconcile, type ReconcileOptions } from './commands/reconcile.ts';
import { rescan } from './commands/rescan.ts';
import { setMerchant, type SetMerchantOptions } from './commands/set-merchant.ts';
import { setUp } from './commands/setup.ts';
import { addKeys } from './key-commands.ts';
import { addOps } from './ops-commands.ts';
import { addPolicy } from './policy-commands.ts';
import { addWebhook } from './webhook-commands.ts';

/** The `opentill` command line. Commands only translate words into calls; errors come out as GatewayError. */
export function createProgram(context: CliContext): Command {
  const program = new Command('opentill')
    .description('Operates an Opentill gateway.')
    .exitOverride()
    .enablePositionalOptions() // what follows a subcommand is its own, also where its parent has an option of that name
    .showSuggestionAfterError(false);
  program.configureOutput({
    writeOut: (text) => text.trimEnd().split('\n').forEach(context.print),
    writeErr: (text) => text.trimEnd().split('\n').forEach(context.printError),
  });

  program
    .command('setup')
    .description(
      'migrations, roles, the merchant of the settings (what differs is changed), hot wallets, broker topology with its canary',
    )
    .action(() => setUp(context));

  addDoctor(program, context);
  addKeys(program, context);
  addPolicy(program, context);
  addWallet(program, context);
  addMerchant(program, context);
  addWebhook(program, context);
  addBackup(program, context);
  addRepairs(program, context);
  addOps(program, context);
  return program;
}

function addDoctor(program: Command, context: CliContext): void {
  program
    .command('doctor')
    .description(
      'look whether the configured networks are as the network file says: endpoints, limits, tokens; and the deployment',
    )
    .argument('[networks-file]', 'default: NETWORKS_FILE')
    .option('--chain <chain>', 'this network alone, enabled or not')
    .option('--json', 'for programs')
    .action((file: string | undefined, options: { chain?: string; json?: boolean }) =>
      examine(context, file === undefined ? options : { ...options, file }),
    );
}

function addWallet(program: Command, context: CliContext): void {
  const wallet = program.command('wallet').description('what was sent to the hot wallets');
  wallet
    .command('list-top-ups')
    .description('top-ups that were booked by hand')
    .option('--chain <chain>')
    .option('--all', 'also those that were reversed, or replaced by their transfer')
    .action((o: { chain?: string; all?: boolean }) => listTopUps(context, o));
  wallet
    .command('reverse-top-up')
    .description('reverse a top-up that was booked by hand and is wrong')
    .requiredOption('--ref <ref>', 'as list-top-ups shows it')
    .requiredOption('--reason <reason>')
    .action((o: { ref: string; reason: string }) => undoTopUp(context, o));
  wallet
    .command('book-top-up')
    .description('book what was sent to a hot wallet, if the chain shows it')
    .requiredOption('--chain <chain>')
    .requiredOption('--symbol <symbol>')
    .requiredOption('--amount <amount>', 'in display units')
    .requiredOption('--txid <txid>')
    .action((o: { chain: string; symbol: string; amount: string; txid: string }) => recordTopUp(context, o));
}

function addMerchant(program: Command, context: CliContext): void {
  const merchant = program.command('merchant').description('the shops that may call the API');
  merchant
    .command('create')
    .requiredOption('--id <id>', 'merchant id')
    .option('--name <name>')
    .option('--merchant-version <version>', 'V2 or V3', 'V3')
    .option('--callback-url <url>')
    .option('--return-origin <origin...>', 'origins that returnUrl may have')
    .action(
      (o: {
        id: string;
        name?: string;
        merchantVersion: string;
        callbackUrl?: string;
        returnOrigin?: string[];
      }) => createMerchant(context, { ...o, version: o.merchantVersion }),
    );
  addMerchantSet(merchant, context);
  merchant.command('list').action(() => printMerchants(context));
  merchant
    .command('rotate')
    .description(
      'a new token or webhook secret; those of the merchant "default" are in the settings of setup',
    )
    .argument('<id>')
    .argument('<what>', 'token or webhook-secret')
    .option('--overlap <duration>', 'webhook-secret: sign with both for so long (24h), then with the new one')
    .option('--finish', 'webhook-secret: end the overlap, the new one is the secret')
    .option('--cancel', 'webhook-secret: end the overlap, the old one stays')
    .action((id: string, what: string, options: RotateOptions) =>
      rotateMerchant(context, { ...options, id, what }),
    );
}

function addMerchantSet(merchant: Command, context: CliContext): void {
  merchant
    .command('set')
    .description('change settings of a merchant; what is not given stays')
    .argument('<id>')
    .option('--callback-url <url>', 'or none')
    .option('--return-origin <origin...>', 'all origins that returnUrl may have, or none')
    .option('--sign-version <version>', '1 or 2')
    .option('--order-ttl-seconds <seconds>')
    .option('--tolerance-bps <bps>', 'underpayment accepted, in hundredths of a percent')
    .option('--late-grace-seconds <seconds>')
    .option('--notify-reverted', 'send ORDER_REVERTED')
    .option('--no-notify-reverted')
    .option('--enabled')
    .option('--disabled')
    .action((id: string, options: SetMerchantOptions) => setMerchant(context, id, options));
}

function addRepairs(program: Command, context: CliContext): void {
  program
    .command('reconcile')
    .description(
      'hold the ledger against the chains at a final block, and name every difference; exit code 1 if any',
    )
    .option('--chain <chain>', 'this network alone')
    .option('--paid-only', 'leave out addresses that nothing ever came to')
    .option('--book-gas', 'book the coin for fees that was sent to the hot wallets')
    .addOption(
      new Option(
        '--addresses',
        'say of each deposit address what it received, and what became of it',
      ).conflicts('bookGas'),
    )
    .option('--json', 'for programs')
    .action((options: ReconcileOptions) => reconcile(context, options));

  program
    .command('rescan')
    .description('have a chain read again; idempotent')
    .requiredOption('--chain <chain>')
    .requiredOption('--from <height>')
    .requiredOption('--to <height>')
    .action((options: { chain: string; from: string; to: string }) => rescan(context, options));

  program
    .command('explain')
    .description('everything known of an order, a transaction or an address')
    .argument('<orderId | txid | address>')
    .action((wanted: string) => explain(context, wanted));
}
