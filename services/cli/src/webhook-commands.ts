import type { Command } from 'commander';
import { SETTINGS_MERCHANT_ID } from '@opentill/contracts/ops/fields';
import { needed, option, type AddCommand } from './add-command.ts';
import { replayWebhook } from './commands/replay-webhook.ts';
import { enableWebhook, printAttempts, printCallbackStatus } from './commands/watch-webhooks.ts';

export function addWebhook(program: Command, add: AddCommand): void {
  const webhook = program.command('webhook').description('callbacks to the shops');
  const status = 'show each merchant’s backlog, endpoint and last failure';
  add(webhook, 'status [merchant]', status, [], printCallbackStatus);
  const ofOrder = [
    needed('--order <orderId>'),
    option('--merchant <id>', 'the merchant of the order', SETTINGS_MERCHANT_ID),
  ];
  add(webhook, 'attempts', 'show every attempt at the callbacks of an order', ofOrder, printAttempts);
  const enable = 'send again to an endpoint that rests or answered 410; waiting callbacks are sent at once';
  add(webhook, 'enable <merchant>', enable, [], enableWebhook);
  const which = [
    option('--event <id>', 'one callback by its nonce, in any state'),
    option('--order <orderId>', 'the callbacks of an order'),
    option('--merchant <id>', `of one merchant (with --order: ${SETTINGS_MERCHANT_ID} by default)`),
    option('--since <time>', 'that happened at or after this time: 2026-03-01T12:00:00Z, or 24h (ago)'),
    option('--until <time>', 'that happened before this time'),
    option('--state <state>', 'dead, delivered or any (dead, with --order any)'),
    option('--rate <number>', 'callbacks per second', '100'),
    option('--dry-run', 'only count them'),
  ];
  const replay = 'send callbacks again: one, or those of an order, a merchant or a period';
  add(webhook, 'replay', replay, which, replayWebhook);
}
