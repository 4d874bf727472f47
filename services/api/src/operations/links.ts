import { randomBytes } from 'node:crypto';
import type { LinksAnswer } from '@opentill/contracts/http/answers';
import { parseAmount } from '@opentill/domain/money';
import { refusal, success, type Answer } from '../answer.ts';
import type { Asset } from '../asset-book.ts';
import { explainOrigin } from '../explain/explain-order.ts';
import type { LinkBounds, LinkFields, LinkPage } from '../link-fields.ts';
import type { Merchant } from '../merchant-book.ts';
import { isSameCoin, type AcceptedCoins, type CoinName } from '../order-fields.ts';
import type { Problem } from '../problem.ts';
import type { SpentNonce } from '../store/create-orders.ts';
import type { LinkRow, NewLink } from '../store/links.ts';
import { rejectAndSpendNonce } from './create-once.ts';
import { toLinkAnswer } from './link-answer.ts';
import type { OrderDeps } from './order-deps.ts';
import { acceptedAssets } from './price-options.ts';
import { rangeProblem, tooManyDecimals, unsupported } from './reject-fields.ts';

export type LinkDeps = Pick<OrderDeps, 'store' | 'assets' | 'checkoutBaseUrl' | 'clock'>;

/** A signed request for links. */
export interface LinkRequest<Fields> {
  readonly merchant: Merchant;
  readonly nonce: SpentNonce;
  readonly fields: Fields;
}

/** In a public address: 128 random bits, as 22 characters. */
const CODE_BYTES = 16;

/** At most one link exists per link id. An equal request returns it, even when it would be rejected today. */
export async function createLink(deps: LinkDeps, request: LinkRequest<LinkFields>): Promise<Answer> {
  const { merchant, nonce, fields } = request;
  const { merchantId } = merchant;
  const coins = usableCoins(deps, merchant, fields);
  if ('code' in coins) {
    const existing = await deps.store.findLink(merchantId, fields.linkId);
    if (existing === undefined) return rejectAndSpendNonce(deps, nonce, coins);
    return (await deps.store.spendNonce(nonce))
      ? answerExisting(deps, existing, fields)
      : refusal('NONCE_USED');
  }
  const link: NewLink = {
    ...fields,
    ...coins,
    merchantId,
    code: randomBytes(CODE_BYTES).toString('base64url'),
    returnUrl: fields.returnUrl?.href ?? null,
  };
  const { spent } = await deps.store.createLink(link, nonce);
  const stored = spent ? await deps.store.findLink(merchantId, fields.linkId) : undefined;
  return stored === undefined ? refusal('NONCE_USED') : answerExisting(deps, stored, fields);
}

export async function readLink(
  deps: LinkDeps,
  { merchant, nonce, fields: { linkId } }: LinkRequest<{ readonly linkId: string }>,
): Promise<Answer> {
  if (!(await deps.store.spendNonce(nonce))) return refusal('NONCE_USED');
  const link = await deps.store.findLink(merchant.merchantId, linkId);
  return link === undefined ? refusal('LINK_NOT_FOUND') : success(toLinkAnswer(link, deps.checkoutBaseUrl));
}

export async function listLinks(
  deps: LinkDeps,
  { merchant, nonce, fields }: LinkRequest<LinkPage>,
): Promise<Answer> {
  if (!(await deps.store.spendNonce(nonce))) return refusal('NONCE_USED');
  const { merchantId } = merchant;
  const rows = await deps.store.listLinks(merchantId, fields);
  // An empty page would look like the end of the list.
  const isEmptyPage = rows.length === 0 && fields.before !== null;
  if (isEmptyPage && (await deps.store.findLink(merchantId, fields.before)) === undefined)
    return refusal('LINK_INVALID', 'before: no link has this id; write `next` of the page before');
  const links = rows.slice(0, fields.limit).map((row) => toLinkAnswer(row, deps.checkoutBaseUrl));
  const next = rows.length > fields.limit ? (links.at(-1)?.linkId ?? null) : null;
  return success({ links, next } satisfies LinksAnswer);
}

/** Permanent. Open orders of the link may still be paid. */
export async function closeLink(
  deps: LinkDeps,
  { merchant, nonce, fields: { linkId } }: LinkRequest<{ readonly linkId: string }>,
): Promise<Answer> {
  const { spent } = await deps.store.closeLink(merchant.merchantId, linkId, nonce);
  if (!spent) return refusal('NONCE_USED');
  const link = await deps.store.findLink(merchant.merchantId, linkId);
  return link === undefined ? refusal('LINK_NOT_FOUND') : success(toLinkAnswer(link, deps.checkoutBaseUrl));
}

/** The coins in the operator's spelling, or a reason that may change: settings, limits of tokens, the time. */
function usableCoins(
  deps: Pick<LinkDeps, 'assets' | 'clock'>,
  merchant: Merchant,
  fields: LinkFields,
): AcceptedCoins | Problem {
  const coins = spelledCoins(deps, fields);
  if ('code' in coins) return coins;
  const { returnUrl, expiresAt } = fields;
  if (returnUrl !== null && !merchant.returnOrigins.includes(returnUrl.origin))
    return { code: 'RETURN_URL_INVALID', detail: explainOrigin(returnUrl, merchant.returnOrigins) };
  return expiresAt !== null && expiresAt <= deps.clock.now()
    ? { code: 'LINK_INVALID', detail: 'expiresAt: is in the past; write Unix seconds' }
    : coins;
}

function spelledCoins(deps: Pick<LinkDeps, 'assets'>, fields: LinkFields): AcceptedCoins | Problem {
  const { coin, accept } = fields;
  if (coin !== null) {
    const asset = deps.assets.find(coin.chain, coin.symbol);
    if (asset === undefined) return unsupported(deps, coin);
    return whyNotIn(asset, fields) ?? { coin: { chain: coin.chain, symbol: asset.symbol }, accept };
  }
  const { assets, coins, disabled, unknown } = acceptedAssets(deps, accept);
  const problem = unknown ?? (assets.length === 0 ? disabled : undefined);
  return problem ?? { coin, accept: accept && coins };
}

/** A price becomes an amount only when an order is opened. */
function whyNotIn(asset: Asset, { currency, amount, minAmount, maxAmount }: LinkBounds): Problem | undefined {
  if (currency !== null) return undefined;
  for (const text of [amount, minAmount, maxAmount]) {
    if (text === null) continue;
    const parsed = parseAmount(text, asset.decimals);
    if (!parsed.ok) return tooManyDecimals(text, asset);
    const problem = rangeProblem(parsed.value, asset, text);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function answerExisting(deps: LinkDeps, existing: LinkRow, fields: LinkFields): Answer {
  const differing = differences(existing, fields);
  return differing.length > 0
    ? refusal('LINK_ID_EXISTS', `linkId: exists with another ${differing.join(', ')}`)
    : success(toLinkAnswer(existing, deps.checkoutBaseUrl));
}

/** Members in which a request differs from the link. It uses no current configuration. */
function differences(existing: LinkRow, fields: LinkFields): readonly string[] {
  const isEqual = {
    currency: existing.currency === fields.currency,
    amount: existing.amount === fields.amount,
    minimum: existing.minAmount === fields.minAmount,
    maximum: existing.maxAmount === fields.maxAmount,
    symbol: existing.coin?.symbol.toUpperCase() === fields.coin?.symbol.toUpperCase(),
    chain: existing.coin?.chain === fields.coin?.chain,
    accept: isSameList(existing.accept, fields.accept),
    uid: existing.uid === fields.uid,
    description: existing.description === fields.description,
    returnUrl: existing.returnUrl === (fields.returnUrl?.href ?? null),
    stock: existing.stock === fields.stock,
    expiresAt: existing.expiresAt?.getTime() === fields.expiresAt?.getTime(),
  };
  return Object.entries(isEqual).flatMap(([name, equal]) => (equal ? [] : [name]));
}

/** Order and repetition do not matter. */
function isSameList(one: AcceptedCoins['accept'], other: AcceptedCoins['accept']): boolean {
  if (one === null || other === null) return one === other;
  const isWithin = (some: readonly CoinName[], all: readonly CoinName[]) =>
    some.every((coin) => all.some((each) => isSameCoin(coin, each)));
  return isWithin(one, other) && isWithin(other, one);
}
