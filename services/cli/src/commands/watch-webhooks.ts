import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import { notFound, type CliContext } from '../context.ts';
import { openOps } from '../ops-client.ts';

type Endpoint = OpsAnswer<'listCallbackEndpoints'>;
type Attempt = OpsAnswer<'getOrder'>['notifications'][number]['attemptList'][number];

const MERCHANTS_MAX = 10_000;

export async function printCallbackStatus(
  context: CliContext,
  merchantId: string | undefined,
): Promise<void> {
  const ops = await openOps(context);
  const all = await ops.list(
    'listCallbackEndpoints',
    merchantId === undefined ? {} : { merchantId },
    MERCHANTS_MAX,
  );
  if (all.length === 0 && merchantId !== undefined) throw notFound(`no merchant ${merchantId}`);
  for (const status of all) {
    const oldest =
      status.oldestSeconds === null ? '' : `, the oldest for ${Math.round(status.oldestSeconds)} s`;
    context.print(`${status.merchantId}\t${describeEndpoint(status)}\t${status.callbackUrl ?? '-'}`);
    context.print(`  ${status.waiting} wait${oldest}; ${status.dead} dead`);
    if (status.lastFailedAt !== null) {
      context.print(
        `  last failure ${status.lastFailedAt}: ${status.lastErrorCode ?? ''} ${status.lastError ?? ''}`,
      );
    }
  }
}

function describeEndpoint(status: Endpoint): string {
  if (status.callbackUrl === null) return 'no callback URL';
  if (status.state === 'DISABLED') {
    return `disabled since ${status.disabledAt ?? '?'}: ${status.disabledReason ?? '?'}`;
  }
  if (status.state === 'OPEN') {
    return `resting since ${status.openedAt ?? '?'}, next attempt ${status.probeAt ?? '?'}`;
  }
  return status.failuresInRow === 0 ? 'ok' : `${status.failuresInRow} failures in a row`;
}

/** Works in any state. @throws GatewayError NOT_FOUND */
export async function enableWebhook(context: CliContext, merchantId: string): Promise<void> {
  const ops = await openOps(context);
  const { dead } = await ops.call('enableCallbackEndpoint', { merchantId });
  context.print(`Callbacks of ${merchantId} are sent again.`);
  if (dead > 0)
    context.print(`${dead} are dead: opentill webhook replay --merchant ${merchantId} sends them.`);
}

export async function printAttempts(
  context: CliContext,
  options: { readonly order: string; readonly merchant: string },
): Promise<void> {
  const ops = await openOps(context);
  const [order] = await ops.list('listOrders', { merchantId: options.merchant, orderId: options.order }, 1);
  const detail = order && (await ops.call('getOrder', { orderPk: order.orderPk }));
  if (detail === undefined || detail.notifications.length === 0) {
    throw notFound(`Merchant ${options.merchant} has no order ${options.order} with callbacks.`);
  }
  for (const n of detail.notifications) {
    context.print(
      `callback ${n.sequence} ${n.notifyType} ${n.eventId}: ${n.deliveryState ?? 'not yet queued'}`,
    );
    for (const attempt of n.attemptList) context.print(`  ${describeAttempt(attempt)}`);
  }
}

function describeAttempt(row: Attempt): string {
  const result = [row.statusCode, row.errorCode, row.error].filter((part) => part !== null).join(' ');
  // The excerpt comes from a third party's server: one line of it at most.
  const excerpt = row.excerpt?.replaceAll(/\s+/g, ' ').trim().slice(0, 200) ?? '';
  const shownExcerpt = excerpt === '' ? '' : `: ${excerpt}`;
  return `attempt ${row.attempt} at ${row.startedAt}, ${row.durationMs} ms: ${result}${shownExcerpt}`;
}
