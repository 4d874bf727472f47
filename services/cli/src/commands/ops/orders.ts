import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import { ORDER_STATUSES } from '@opentill/contracts/ops/order-views';
import { cliError, type CliContext } from '../../context.ts';
import type { Reason, Typed } from '../../add-command.ts';
import { callOps, openOps, printList, type EarlierAnswer } from '../../ops-client.ts';
import { parseOptionalTime } from '../../parse-moment.ts';
import { parseChain, readLimit, parseEnum } from './read-options.ts';

export interface ListOrdersOptions extends Typed<
  'merchant' | 'link' | 'status' | 'type' | 'chain' | 'symbol' | 'address' | 'txid' | 'since' | 'until'
> {
  readonly limit: string;
}

type Listed = EarlierAnswer<OpsAnswer<'listOrders'>, 'options'>;

export async function listOrders(context: CliContext, options: ListOrdersOptions): Promise<void> {
  const filter = {
    merchantId: options.merchant,
    linkId: options.link,
    status: parseEnum('--status', options.status, ORDER_STATUSES),
    orderType: parseEnum('--type', options.type, ['COLLECTION', 'PAYOUT']),
    chain: parseChain(options.chain),
    symbol: options.symbol,
    address: options.address,
    txid: options.txid,
    from: parseOptionalTime(context.clock.now(), '--since', options.since),
    until: parseOptionalTime(context.clock.now(), '--until', options.until),
  };
  await printList(context, 'listOrders', filter, readLimit(options.limit), (o: Listed) => [
    o.orderPk,
    o.createdAt,
    o.orderType,
    o.merchantId,
    o.orderId,
    o.status,
    `${o.amount} ${o.symbol}`,
    o.chain,
    o.address,
    o.reason,
    o.linkId,
    o.options?.map(shownOption).join(', '),
  ]);
}

function shownOption(option: OpsAnswer<'listOrders'>['options'][number]): string {
  const { amount, symbol, chain, address, isCurrent } = option;
  return `${amount} ${symbol} on ${chain}${address === null ? '' : ` at ${address}`}${isCurrent ? ' (chosen)' : ''}`;
}

/** The tracker carries it out. */
function decide(decision: 'ACCEPT' | 'REFUSE') {
  return async (context: CliContext, orderPk: string, { reason }: Reason): Promise<void> => {
    const { decisionId } = await callOps(context, 'decideOrder', { orderPk, decision, reason });
    context.print(`Decided (${decisionId}); the tracker carries it out within seconds.`);
  };
}

export const acceptOrder = decide('ACCEPT');
export const refuseOrder = decide('REFUSE');

export interface ExportOptions {
  readonly from: string;
  readonly until: string;
  readonly out: string;
}

async function exportCsv(
  context: CliContext,
  what: 'exportOrders' | 'exportLedger',
  options: ExportOptions,
): Promise<void> {
  const now = context.clock.now();
  const time = {
    from: parseOptionalTime(now, '--from', options.from),
    until: parseOptionalTime(now, '--until', options.until),
  };
  const ops = await openOps(context);
  const bytes = await ops.download(what, time);
  const file = createWriteStream(options.out, { flags: 'wx', mode: 0o600 });
  let isOurs = false;
  file.once('open', () => (isOurs = true));
  try {
    await pipeline(bytes, file);
  } catch (error) {
    if (!isOurs) throw error;
    await rm(options.out, { force: true });
    const message = `The export was interrupted; ${options.out} was removed. Run it again.`;
    throw cliError('OPS_UNREACHABLE', message, { retryable: true, cause: error });
  }
  context.print(`${file.bytesWritten} bytes in ${options.out}.`);
}

export function exportOrders(context: CliContext, options: ExportOptions): Promise<void> {
  return exportCsv(context, 'exportOrders', options);
}

export function exportLedger(context: CliContext, options: ExportOptions): Promise<void> {
  return exportCsv(context, 'exportLedger', options);
}
