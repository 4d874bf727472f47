import { GatewayError } from '@opentill/domain/gateway-error';
import {
  attemptsOfOrder,
  callbackStatus,
  enableEndpoint,
  type CallbackStatus,
  type ShownAttempt,
} from '../callback-store.ts';
import type { CliContext, CliErrorCode } from '../context.ts';
import { withOpsDatabase } from '../open-ops-database.ts';

/** Shows each merchant's backlog and what is known of its endpoint. @throws GatewayError NOT_FOUND */
export async function printCallbackStatus(
  context: CliContext,
  merchantId: string | undefined,
): Promise<void> {
  await withOpsDatabase(context, async ({ kysely }) => {
    const all = await callbackStatus(kysely, merchantId);
    if (all.length === 0 && merchantId !== undefined) throw notFound(`no merchant ${merchantId}`);
    for (const status of all) {
      const oldest =
        status.oldestSeconds === null ? '' : `, the oldest for ${Math.round(status.oldestSeconds)} s`;
      context.print(`${status.merchantId}\t${describeEndpoint(status)}\t${status.callbackUrl ?? '-'}`);
      context.print(`  ${status.waiting} wait${oldest}; ${status.dead} dead`);
      if (status.lastFailedAt !== null) {
        context.print(
          `  last failure ${status.lastFailedAt.toISOString()}: ${status.lastErrorCode ?? ''} ${status.lastError ?? ''}`,
        );
      }
    }
  });
}

function describeEndpoint(status: CallbackStatus): string {
  if (status.callbackUrl === null) return 'no callback URL';
  if (status.state === 'DISABLED') {
    return `disabled since ${status.disabledAt?.toISOString() ?? '?'}: ${status.disabledReason ?? '?'}`;
  }
  if (status.state === 'OPEN') {
    return `resting since ${status.openedAt?.toISOString() ?? '?'}, next attempt ${status.probeAt?.toISOString() ?? '?'}`;
  }
  return status.failuresInRow === 0 ? 'well' : `${status.failuresInRow} failures in a row`;
}

/** Sends to a merchant's endpoint again, whatever is known against it. @throws GatewayError NOT_FOUND */
export async function enableWebhook(context: CliContext, merchantId: string): Promise<void> {
  await withOpsDatabase(context, async ({ kysely }) => {
    if (!(await enableEndpoint(kysely, merchantId))) throw notFound(`no merchant ${merchantId}`);
    const [status] = await callbackStatus(kysely, merchantId);
    context.print(`Callbacks of ${merchantId} go out again.`);
    const dead = status?.dead ?? 0;
    if (dead > 0)
      context.print(`${dead} are dead: opentill webhook replay --merchant ${merchantId} sends them.`);
  });
}

/** Shows every attempt at the callbacks of an order. @throws GatewayError NOT_FOUND */
export async function printAttempts(
  context: CliContext,
  options: { readonly order: string; readonly merchant: string },
): Promise<void> {
  await withOpsDatabase(context, async ({ kysely }) => {
    const rows = await attemptsOfOrder(kysely, options.merchant, options.order);
    if (rows.length === 0) {
      throw notFound(`Merchant ${options.merchant} has no order ${options.order} with callbacks.`);
    }
    let eventId = '';
    for (const row of rows) {
      if (row.eventId !== eventId) {
        context.print(
          `callback ${row.sequence} ${row.notifyType} ${row.eventId}: ${row.state ?? 'not yet queued'}`,
        );
      }
      ({ eventId } = row);
      if (row.attempt !== null) context.print(`  ${describeAttempt(row)}`);
    }
  });
}

function describeAttempt(row: ShownAttempt): string {
  const result = [row.statusCode, row.errorCode, row.error].filter((part) => part !== null).join(' ');
  // An excerpt is what a stranger's server wrote: one line of it.
  const excerpt = row.excerpt?.replaceAll(/\s+/g, ' ').trim().slice(0, 200) ?? '';
  const said = excerpt === '' ? '' : `: ${excerpt}`;
  return `attempt ${row.attempt} at ${row.startedAt?.toISOString() ?? '?'}, ${row.durationMs} ms: ${result}${said}`;
}

function notFound(message: string): GatewayError<CliErrorCode> {
  return new GatewayError('NOT_FOUND', message, { retryable: false });
}
