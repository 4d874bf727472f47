import { formatAmount } from '@opentill/domain/money';
import type { ChainLedger } from './chain-ledger.ts';

/** In base units if the asset is unknown. */
export function displayAmount(books: Pick<ChainLedger, 'assets'>, symbol: string, value: bigint): string {
  const asset = books.assets.find((one) => one.symbol === symbol);
  if (asset === undefined) return `${value} base units of ${symbol}`;
  const size = formatAmount(value < 0n ? -value : value, asset.decimals, asset.displayDecimals);
  return `${value < 0n ? '-' : ''}${size} ${symbol}`;
}
