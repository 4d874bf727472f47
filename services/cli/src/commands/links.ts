import { createOpentill, type Opentill } from '@opentill/sdk/client';
import type {
  LinkCoins,
  LinkFields,
  LinkPage,
  LinkValue,
  PaymentLink,
  PaymentLinks,
} from '@opentill/sdk/links';
import { OpentillError } from '@opentill/sdk/opentill-error';
import type { Coin } from '@opentill/sdk/orders';
import { readPrivateFile } from '@opentill/wallet/read-private-file';
import { cliError, notFound, usage, type CliContext } from '../context.ts';
import { parseDurationSeconds, parseOptionalTime } from '../parse-moment.ts';
import { requireHttpUrl } from '../require-url.ts';

const EXPIRES_MAX_SECONDS = 3_650 * 86_400;

export interface MerchantOptions {
  readonly url: string;
  readonly tokenFile: string;
}

export interface LinkOptions extends MerchantOptions {
  readonly symbol?: string;
  readonly chain?: string;
  readonly accept?: string;
  readonly amount?: string;
  readonly min?: string;
  readonly max?: string;
  readonly currency?: string;
  readonly description?: string;
  readonly returnUrl?: string;
  readonly stock?: string;
  readonly expires?: string;
  readonly uid?: string;
}

export async function createLink(context: CliContext, linkId: string, options: LinkOptions): Promise<void> {
  const { description, returnUrl, stock, expires, uid } = options;
  const fields: LinkFields = {
    linkId,
    ...valueOf(options),
    ...(description === undefined ? {} : { description }),
    ...(returnUrl === undefined ? {} : { returnUrl }),
    ...(stock === undefined ? {} : { stock: parseStock(stock) }),
    ...(expires === undefined ? {} : { expiresAt: parseExpiry(expires, context.clock.now()) }),
    ...(uid === undefined ? {} : { uid }),
  };
  printLink(context, await call(options, (opentill) => opentill.createLink(fields)));
}

export async function showLink(context: CliContext, linkId: string, options: MerchantOptions): Promise<void> {
  printLink(context, await call(options, (opentill) => opentill.readLink(linkId)));
}

export async function closeLink(
  context: CliContext,
  linkId: string,
  options: MerchantOptions,
): Promise<void> {
  printLink(context, await call(options, (opentill) => opentill.closeLink(linkId)));
}

export async function listLinks(context: CliContext, options: MerchantOptions): Promise<void> {
  let before: string | undefined;
  do {
    const page: LinkPage = before === undefined ? { limit: 100 } : { limit: 100, before };
    const { links, next }: PaymentLinks = await call(options, (opentill) => opentill.listLinks(page));
    for (const link of links)
      context.print(
        [link.linkId, link.state, shownValue(link), soldOf(link), link.url, link.description ?? '-'].join(
          '\t',
        ),
      );
    before = next ?? undefined;
  } while (before !== undefined);
}

function valueOf(options: LinkOptions): LinkValue {
  const { amount, min, max, currency } = options;
  const coins = coinsOf(options);
  if (amount !== undefined && min === undefined && max === undefined) {
    if (currency !== undefined) return { ...coins, price: amount, currency };
    return { ...onlyCoin(coins), amount };
  }
  if (amount !== undefined || min === undefined || max === undefined)
    throw usage('Give --amount, or --min and --max.');
  return currency === undefined
    ? { ...onlyCoin(coins), minAmount: min, maxAmount: max }
    : { ...coins, minPrice: min, maxPrice: max, currency };
}

function coinsOf({ symbol, chain, accept }: LinkOptions): LinkCoins {
  if ((symbol === undefined) !== (chain === undefined)) throw usage('Give --symbol and --chain, or neither.');
  if (symbol === undefined || chain === undefined)
    return accept === undefined ? {} : { accept: accept.split(',').map(readCoin) };
  if (accept !== undefined) throw usage('Give --accept, or --symbol and --chain.');
  return { symbol, chain };
}

function readCoin(text: string): Coin {
  const [, chain, symbol] = /^\s*([^\s:]+):([^\s:]+)\s*$/.exec(text) ?? [];
  if (chain === undefined || symbol === undefined)
    throw usage(`--accept: '${text}' is not a coin such as TRON:USDT.`);
  return { chain, symbol };
}

function onlyCoin(coins: LinkCoins): Coin {
  if (coins.symbol !== undefined) return coins;
  throw usage('Give --symbol and --chain. Only a price, with --currency, leaves the coin to the customer.');
}

/** A time, or a duration from now. @returns Unix seconds */
function parseExpiry(text: string, now: Date): number {
  const isDuration = /^\d+[smhd]$/.test(text);
  const ms = isDuration
    ? now.getTime() + parseDurationSeconds('--expires', text, EXPIRES_MAX_SECONDS) * 1_000
    : Date.parse(parseOptionalTime(now, '--expires', text));
  return Math.floor(ms / 1_000);
}

function parseStock(text: string): number {
  if (!/^[1-9][0-9]{0,4}$/.test(text)) throw usage('--stock must be a whole number from 1 to 10000.');
  return Number(text);
}

function printLink(context: CliContext, link: PaymentLink): void {
  const time = (seconds: number | null) => (seconds === null ? '-' : new Date(seconds * 1000).toISOString());
  for (const [name, value] of [
    ['link', link.linkId],
    ['state', link.state],
    ['page', link.url],
    ['QR code', `${link.url}/qr.svg`],
    ['value', shownValue(link)],
    ['coin', shownCoins(link)],
    ['description', link.description ?? '-'],
    ['sold', soldOf(link)],
    ['expires', time(link.expiresAt)],
    ['closed', time(link.closedAt)],
  ] as const)
    context.print(`${name.padEnd(14)}${value}`);
}

function shownValue(link: PaymentLink): string {
  const fixed = link.price ?? link.amount;
  const open = `${link.minPrice ?? link.minAmount ?? '?'} to ${link.maxPrice ?? link.maxAmount ?? '?'}`;
  return `${fixed ?? open} ${link.currency ?? link.symbol ?? ''}`;
}

function shownCoins({ symbol, chain, accept }: PaymentLink): string {
  if (symbol !== null) return `${symbol} on ${chain ?? '?'}`;
  return accept?.map((coin) => `${coin.symbol} on ${coin.chain}`).join(', ') ?? 'any that is enabled';
}

function soldOf({ sold, reserved, stock }: PaymentLink): string {
  return `${sold} sold, ${reserved} reserved${stock === null ? '' : ` of ${stock}`}`;
}

async function call<T>(options: MerchantOptions, run: (opentill: Opentill) => Promise<T>): Promise<T> {
  requireHttpUrl('--url', options.url);
  const token = (await readPrivateFile(options.tokenFile)).trim();
  try {
    return await run(createOpentill({ url: options.url, token }));
  } catch (error) {
    if (!(error instanceof OpentillError)) throw error;
    const message = error.detail === undefined ? error.message : `${error.message} (${error.detail})`;
    if (error.code === 'NOT_FOUND') throw notFound(message);
    throw cliError('MERCHANT_API', message, { retryable: error.isRetryable, cause: error });
  }
}
