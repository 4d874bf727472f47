import { Argument, Command } from 'commander';
import { createAddCommand, needed, option, type AddCommand } from './add-command.ts';
import { addBackup } from './backup-commands.ts';
import { listTopUps, recordTopUp, undoTopUp } from './commands/book-top-up.ts';
import { examine } from './commands/doctor.ts';
import { explain } from './commands/explain.ts';
import {
  createMerchant,
  printMerchant,
  printMerchants,
  rotateMerchant,
} from './commands/manage-merchants.ts';
import { reconcile } from './commands/reconcile.ts';
import { rescan } from './commands/rescan.ts';
import { setMerchant } from './commands/set-merchant.ts';
import { setUp } from './commands/setup.ts';
import type { CliContext } from './context.ts';
import { addKeys } from './key-commands.ts';
import { addLink } from './link-commands.ts';
import { addOps } from './ops-commands.ts';
import { addPolicy } from './policy-commands.ts';
import { addWebhook } from './webhook-commands.ts';

/** Commands only translate words into calls. Errors are GatewayErrors. */
export function createProgram(context: CliContext): Command {
  const program = new Command('opentill')
    .description('Operates an Opentill gateway.')
    .exitOverride()
    .enablePositionalOptions() // options after a subcommand belong to it, even if its parent has an option of the same name
    .showSuggestionAfterError(false);
  program.configureOutput({
    writeOut: (text) => text.trimEnd().split('\n').forEach(context.print),
    writeErr: (text) => text.trimEnd().split('\n').forEach(context.printError),
  });
  const add = createAddCommand(context);
  const setup =
    'run before each deployment: migrations, roles, merchant of the settings (updated), hot wallets, queues with a canary';
  add(program, 'setup', setup, [], setUp);
  const doctor =
    'check the networks file against its endpoints: limits, tokens, heads; and the deployment against this version';
  const examined = [
    new Argument('[networks-file]', 'default: NETWORKS_FILE'),
    option('--chain <chain>', 'only this network, enabled or not'),
    option('--json', 'for programs'),
  ];
  add(program, 'doctor', doctor, examined, examine);
  addKeys(program, add);
  addPolicy(program, add);
  addWallet(program, add);
  addMerchant(program, add);
  addLink(program, add);
  addWebhook(program, add);
  addBackup(program, add);
  addRepairs(program, add);
  addOps(program, add);
  return program;
}

function addWallet(program: Command, add: AddCommand): void {
  const wallet = program.command('wallet').description('transfers to the hot wallets');
  const listed = [
    option('--chain <chain>'),
    option('--all', 'include those that were reversed, or replaced by their transfer'),
  ];
  add(wallet, 'list-top-ups', 'top-ups that were booked by hand', listed, listTopUps);
  const reversed = [needed('--ref <ref>', 'as list-top-ups shows it'), needed('--reason <reason>')];
  const reverse = 'reverse a top-up that was booked by hand and is wrong';
  add(wallet, 'reverse-top-up', reverse, reversed, undoTopUp);
  const booked = [
    needed('--chain <chain>'),
    needed('--symbol <symbol>'),
    needed('--amount <amount>', 'in display units'),
    needed('--txid <txid>'),
  ];
  const book = 'book a transfer to a hot wallet, if the chain confirms it';
  add(wallet, 'book-top-up', book, booked, recordTopUp);
}

function addMerchant(program: Command, add: AddCommand): void {
  const merchant = program.command('merchant').description('the shops that may call the API');
  const created = [
    needed('--id <id>', 'merchant id'),
    option('--name <name>'),
    option('--merchant-version <version>', 'V2 or V3', 'V3'),
    option('--callback-url <url>'),
    option('--return-origin <origin...>', 'origins that returnUrl may have'),
  ];
  add(merchant, 'create', '', created, createMerchant);
  const settings = [
    option('--callback-url <url>', 'or none'),
    option('--return-origin <origin...>', 'all origins that returnUrl may have, or none'),
    option('--sign-version <version>', '1 or 2'),
    option('--order-ttl-seconds <seconds>'),
    option('--tolerance-bps <bps>', 'underpayment accepted, in hundredths of a percent'),
    option('--markup-bps <bps>', 'added to amounts computed from a price, in hundredths of a percent'),
    option('--late-grace-seconds <seconds>'),
    option('--notify-reverted', 'send ORDER_REVERTED'),
    option('--no-notify-reverted'),
    option('--notify-unmatched', 'send ORDER_UNMATCHED'),
    option('--no-notify-unmatched'),
    option('--name <name>', 'shown to operators and on the checkout page'),
    option('--logo <file>', 'SVG or PNG of at most 64 KiB for the checkout page, or none'),
    option('--accent-color <#rrggbb>', 'for the checkout page, or none'),
    option('--support-url <url>', 'help page for customers, or none'),
    option('--support-email <address>', 'mail address for customers, or none'),
    option('--shop-url <url>', 'link back to the shop, or none'),
    option('--enabled'),
    option('--disabled'),
  ];
  add(merchant, 'set <id>', 'change only the given settings of a merchant', settings, setMerchant);
  add(merchant, 'list', '', [], printMerchants);
  add(merchant, 'show <id>', 'settings of a merchant and what the checkout page shows', [], printMerchant);
  const rotated = [
    new Argument('<what>', 'token or webhook-secret'),
    option(
      '--overlap <duration>',
      'webhook-secret: sign with both for this time (24h), then with the new one',
    ),
    option('--finish', 'webhook-secret: end the overlap, keep the new one'),
    option('--cancel', 'webhook-secret: end the overlap, keep the old one'),
  ];
  const rotate =
    'create a new token or webhook secret; those of the merchant "default" are in the settings of setup';
  add(merchant, 'rotate <id>', rotate, rotated, rotateMerchant);
}

function addRepairs(program: Command, add: AddCommand): void {
  const hold =
    'compare the ledger with the chains at a final block, and print every difference; exit code 1 if any';
  const addresses =
    'show for each deposit address what it received, and what of that was swept, is unswept or unmatched';
  const compared = [
    option('--chain <chain>', 'only this network'),
    option('--paid-only', 'leave out addresses that never received a transfer'),
    option('--book-gas', 'book the coin for fees that was sent to the hot wallets'),
    option('--addresses', addresses).conflicts('bookGas'),
    option('--json', 'for programs'),
  ];
  add(program, 'reconcile', hold, compared, reconcile);
  const blocks = [needed('--chain <chain>'), needed('--from <height>'), needed('--to <height>')];
  add(program, 'rescan', 'read blocks of a chain again; idempotent', blocks, rescan);
  const about = new Argument('<orderId | txid | address>');
  add(program, 'explain', 'show everything known of an order, a transaction or an address', [about], explain);
}
