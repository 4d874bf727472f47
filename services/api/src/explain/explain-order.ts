import type { Address } from '@opentill/chain/address-codec';
import { FAMILIES, type Chain, type Family } from '@opentill/domain/chains';
import { formatAmount, type BaseUnits } from '@opentill/domain/money';
import type { Asset, AssetBook } from '../asset-book.ts';
import type { OrderDifference } from '../operations/differences.ts';
import type { CreatedOrder } from '../store/create-orders.ts';
import { oneOf, quote } from './describe-value.ts';

// Details of rejections that depend on the configuration or on an existing order.

export function explainUnsupported(assets: AssetBook, chain: Chain, symbol: string): string {
  if (!assets.enabledChains.includes(chain))
    return `chain: ${chain} is not enabled; ${oneOf(assets.enabledChains)}`;
  const symbols = assets.list({ chain }).map((asset) => asset.symbol);
  return `symbol: ${quote(symbol)} is not configured on ${chain}; ${oneOf(symbols)}. GET /v1/symbol/supportSymbols lists all`;
}

/** @param amount decimal text with more decimals than the token */
export function explainDecimals(amount: string, asset: Asset): string {
  const { length } = (amount.split('.')[1] ?? '').replace(/0+$/, '');
  return `amount: has ${length} decimals; ${asset.symbol} on ${asset.chain} has ${asset.decimals}`;
}

/** @param amount decimal text */
export function explainRange(amount: string, asset: Asset): string {
  const { minAmount, maxAmount } = asset;
  const show = (limit: BaseUnits) => formatAmount(limit, asset.decimals, asset.displayDecimals);
  const range = [
    ...(minAmount === null ? [] : [`at least ${show(minAmount)}`]),
    ...(maxAmount === null ? [] : [`at most ${show(maxAmount)}`]),
  ].join(' and ');
  return `amount: ${quote(amount)} is out of range; ${asset.symbol} on ${asset.chain} takes ${range}`;
}

/** Keep the list short enough for the sentence after it. */
const ORIGINS_LISTED = 4;
const ORIGIN_CHARACTERS = 60;

export function explainOrigin(returnUrl: URL, origins: readonly string[]): string {
  const listed = oneOf(
    origins.map((origin) => origin.slice(0, ORIGIN_CHARACTERS)),
    ORIGINS_LISTED,
  );
  return `returnUrl: the origin ${quote(returnUrl.origin)} is not on the list of this merchant: ${listed}. The operator sets the list: opentill merchant set <id> --return-origin`;
}

const REFUSALS: Readonly<Record<string, string>> = {
  TOO_FEW_SOURCES: 'too few sources answer',
  RATES_STALE: 'the sources are stale',
  SOURCES_DISAGREE: 'the sources disagree',
  DEPEGGED: 'the coin is off its peg',
};

/** @param refusal of current_rate; null: the rate is too old; undefined: the pair is not configured */
export function explainRate(symbol: string, currency: string, refusal: string | null | undefined): string {
  if (refusal === undefined) return `currency: the gateway has no rate of ${symbol} in ${currency}`;
  const why = refusal === null ? 'the last one is too old' : (REFUSALS[refusal] ?? refusal);
  return `currency: no rate of ${symbol} in ${currency} now: ${why}; repeat the request later`;
}

const ADDRESS_FORMS: Readonly<Record<Family, string>> = {
  EVM: '0x and 40 hex digits',
  TRON: 'T and 33 characters of base58check',
  SUI: '0x and 64 hex digits, not a reserved address',
};

/** Detail of a receiver that the codec rejects. It does not repeat the text, which may be a private key. */
export function explainReceiver(text: string, { chain, family, codec }: Asset, assets: AssetBook): string {
  const form = `${chain} takes ${ADDRESS_FORMS[family]}`;
  const other = FAMILIES.find((each) => each !== family && assets.parseAddress(each, text) !== undefined);
  if (other !== undefined) return `receiveAddress: is an address of ${other}; ${form}`;
  if (codec.isZero(text.toLowerCase() as Address) || codec.isZero(text as Address))
    return 'receiveAddress: is the zero address; money sent to it is lost';
  if (family === 'EVM' && codec.parse(text.toLowerCase()) !== undefined)
    return 'receiveAddress: has a wrong EIP-55 checksum, so a character or its case is wrong; copy the address again';
  return `receiveAddress: has ${text.length} characters and is not an address; ${form}`;
}

/** @param differing at least one field */
export function explainExisting(
  existing: CreatedOrder,
  differing: readonly OrderDifference[],
  assets: Pick<AssetBook, 'formatAddress'>,
): string {
  if (differing.includes('orderType')) return `orderId: exists as a ${existing.orderType.toLowerCase()}`;
  const { amount, decimals, displayDecimals, symbol, chain, uid, family, address, price, currency, options } =
    existing;
  const values: Readonly<Record<Exclude<OrderDifference, 'orderType'>, () => string>> = {
    amount: () => formatAmount(amount, decimals, displayDecimals),
    price: () => (price === null ? 'none' : `${price} ${currency}`),
    symbol: () => symbol,
    chain: () => chain,
    accept: () => (options ?? [existing]).map((coin) => `${coin.symbol} on ${coin.chain}`).join(' and '),
    uid: () => uid ?? 'null',
    receiveAddress: () => assets.formatAddress(family, address ?? ''),
  };
  const shown = Object.entries(values).flatMap(([field, show]) =>
    differing.includes(field as OrderDifference) ? [`${field} ${show()}`] : [],
  );
  return `orderId: exists with ${shown.join(', ')}`;
}
