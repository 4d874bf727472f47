import type { Command } from 'commander';
import { needed, option, type AddCommand } from './add-command.ts';
import { closeLink, createLink, listLinks, showLink } from './commands/links.ts';

/** Calls of the merchant API, signed with the merchant's token. */
const MERCHANT = [
  needed('--url <url>', 'base URL of the merchant: https://pay.example.com/m/my-shop'),
  needed('--token-file <file>', "file with the merchant's token, which only you can read"),
];

export function addLink(program: Command, add: AddCommand): void {
  const link = program.command('link').description('payment links, which may be paid many times');
  const created = [
    ...MERCHANT,
    option('--symbol <symbol>', 'the only coin, with --chain; without it the customer of a price chooses'),
    option('--chain <chain>'),
    option(
      '--accept <coins>',
      'the customer chooses from these: TRON:USDT,BASE:USDC; or from all that are enabled',
    ),
    option('--amount <amount>', 'fixed, in units of the token; or --min and --max'),
    option('--min <amount>', 'the customer enters an amount from this'),
    option('--max <amount>', 'to this'),
    option('--currency <code>', 'the amounts are prices in this currency (ISO 4217)'),
    option('--description <text>', 'shown on the page'),
    option('--return-url <url>', 'back to the shop; its origin must be on the list of the merchant'),
    option('--stock <number>', 'most orders that are open or paid; 1 to 10000'),
    option('--expires <time>', 'from then on it opens no orders: 2027-01-01T12:00:00Z, or 7d from now'),
    option('--uid <uid>', 'uid of its orders'),
  ];
  add(
    link,
    'create <linkId>',
    'print the address of the page; the same again prints the same',
    created,
    createLink,
  );
  add(link, 'list', 'newest first', MERCHANT, listLinks);
  add(link, 'show <linkId>', 'state, sold and reserved orders, and address', MERCHANT, showLink);
  add(link, 'close <linkId>', 'open no more orders, permanently; open ones may be paid', MERCHANT, closeLink);
}
