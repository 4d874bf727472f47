import { GatewayError } from '@opentill/domain/gateway-error';
import type { CliContext, CliErrorCode } from '../context.ts';
import { withOpsDatabase } from '../open-ops-database.ts';
import { notificationIdsOf, replayDelivery } from '../store.ts';

const EVENT_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Makes callbacks due again: one by its event id, or all of an order. They carry the same nonce as before.
 * @throws GatewayError CLI_USAGE, NOT_FOUND
 */
export async function replayWebhook(
  context: CliContext,
  options: { readonly event?: string; readonly order?: string; readonly merchant: string },
): Promise<void> {
  if ((options.event === undefined) === (options.order === undefined)) {
    throw new GatewayError<CliErrorCode>('CLI_USAGE', 'Give either --event or --order.', {
      retryable: false,
    });
  }
  if (options.event !== undefined && !EVENT_ID.test(options.event)) {
    throw new GatewayError<CliErrorCode>('CLI_USAGE', `${options.event} is not the nonce of a callback.`, {
      retryable: false,
    });
  }
  await withOpsDatabase(context, async ({ kysely }) => {
    const eventIds =
      options.event === undefined
        ? await notificationIdsOf(kysely, options.merchant, options.order ?? '')
        : [options.event];
    let replayed = 0;
    for (const eventId of eventIds) if (await replayDelivery(kysely, eventId)) replayed += 1;
    if (replayed === 0) {
      throw new GatewayError<CliErrorCode>(
        'NOT_FOUND',
        'No such callback has been queued for delivery yet.',
        {
          retryable: false,
        },
      );
    }
    context.print(`${replayed} of ${eventIds.length} callbacks are due again.`);
  });
}
