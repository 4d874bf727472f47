import type { Command } from 'commander';
import { SETTINGS_MERCHANT_ID } from '@opentill/contracts/ops/fields';
import { replayWebhook, type ReplayOptions } from './commands/replay-webhook.ts';
import { enableWebhook, printAttempts, printCallbackStatus } from './commands/watch-webhooks.ts';
import type { CliContext } from './context.ts';

/** `opentill webhook …` */
export function addWebhook(program: Command, context: CliContext): void {
  const webhook = program.command('webhook').description('callbacks to the shops');
  webhook
    .command('status')
    .description('each merchant’s backlog, endpoint and last failure')
    .argument('[merchant]')
    .action((merchant: string | undefined) => printCallbackStatus(context, merchant));
  webhook
    .command('attempts')
    .description('every attempt at the callbacks of an order')
    .requiredOption('--order <orderId>')
    .option('--merchant <id>', 'the merchant of the order', SETTINGS_MERCHANT_ID)
    .action((options: { order: string; merchant: string }) => printAttempts(context, options));
  webhook
    .command('enable')
    .description(
      'send to a merchant’s endpoint again that rests, or that answered 410, and at once what waits for it',
    )
    .argument('<merchant>')
    .action((merchant: string) => enableWebhook(context, merchant));
  webhook
    .command('replay')
    .description('send callbacks again: one, or those of an order, a merchant, a time')
    .option('--event <id>', 'one callback by its nonce, whatever became of it')
    .option('--order <orderId>', 'the callbacks of an order')
    .option('--merchant <id>', `of one merchant (with --order: ${SETTINGS_MERCHANT_ID} unless said)`)
    .option('--since <time>', 'that happened from then on: 2026-03-01T12:00:00Z, or 24h (ago)')
    .option('--until <time>', 'that happened before')
    .option('--state <state>', 'dead, delivered or any (dead, with --order any)')
    .option('--rate <number>', 'callbacks a second', '100')
    .option('--dry-run', 'only count them')
    .action((options: ReplayOptions) => replayWebhook(context, options));
}
