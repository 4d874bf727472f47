import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { ORDER_STATUSES } from '@opentill/contracts/ops/order-views';
import { cliError, usage, type CliContext } from '../../context.ts';
import { openOps } from '../../ops-client.ts';
import { parseMoment } from '../../parse-moment.ts';
import { tableLine } from '../../print-table.ts';
import { chainOf, optional, readLimit } from './read-options.ts';

/** The options of `orders list`, as typed. */
export interface ListOrdersOptions {
  readonly merchant?: string;
  readonly status?: string;
  readonly type?: string;
  readonly chain?: string;
  readonly address?: string;
  readonly txid?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit: string;
}

/** Lists orders, newest first. */
export async function listOrders(context: CliContext, options: ListOrdersOptions): Promise<void> {
  const moment = (option: string, text: string | undefined) =>
    text === undefined ? undefined : parseMoment(option, text, context.clock.now()).toISOString();
  const filter = {
    ...optional('merchantId', options.merchant),
    ...optional('status', wordOf('--status', options.status, ORDER_STATUSES)),
    ...optional('orderType', wordOf('--type', options.type, ['COLLECTION', 'PAYOUT'] as const)),
    ...optional('chain', chainOf(options.chain)),
    ...optional('address', options.address),
    ...optional('txid', options.txid),
    ...optional('from', moment('--since', options.since)),
    ...optional('until', moment('--until', options.until)),
  };
  for (const o of await (await openOps(context)).list('listOrders', filter, readLimit(options.limit))) {
    context.print(
      tableLine([
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
      ]),
    );
  }
}

/** Accepts an expired order, or refuses one; the tracker carries it out. */
export async function decideOrder(
  context: CliContext,
  orderPk: string,
  decision: 'ACCEPT' | 'REFUSE',
  { reason }: { readonly reason: string },
): Promise<void> {
  const { decisionId } = await (await openOps(context)).call('decideOrder', { orderPk, decision, reason });
  context.print(`Decided (${decisionId}); the tracker carries it out within seconds.`);
}

/** The options of `export`, as typed. */
export interface ExportOptions {
  readonly from: string;
  readonly until: string;
  readonly out: string;
}

/** Writes orders or the ledger of a time into a CSV file; never over one that is there, and never a part of it. */
export async function exportCsv(
  context: CliContext,
  what: 'orders' | 'ledger',
  options: ExportOptions,
): Promise<void> {
  const now = context.clock.now();
  const time = {
    from: parseMoment('--from', options.from, now).toISOString(),
    until: parseMoment('--until', options.until, now).toISOString(),
  };
  const ops = await openOps(context);
  const bytes = await ops.download(what === 'orders' ? 'exportOrders' : 'exportLedger', time);
  const file = createWriteStream(options.out, { flags: 'wx', mode: 0o600 });
  let isOurs = false;
  file.once('open', () => (isOurs = true));
  try {
    await pipeline(bytes, file);
  } catch (error) {
    if (!isOurs) throw error;
    await rm(options.out, { force: true });
    const message = `The export broke off; ${options.out} was removed.`;
    throw cliError('OPS_UNREACHABLE', message, { retryable: true, cause: error });
  }
  context.print(`${file.bytesWritten} bytes in ${options.out}.`);
}

function wordOf<const W extends readonly string[]>(
  option: string,
  text: string | undefined,
  words: W,
): W[number] | undefined {
  const word = text?.toUpperCase();
  const found = words.find((known): known is W[number] => known === word);
  if (found !== undefined || word === undefined) return found;
  throw usage(`${option} must be one of ${words.join(', ')}.`);
}
