import { isCurrency, type Currency } from '@opentill/domain/currency';
import type { PricedCoin, RateRules } from '@opentill/domain/decide-rate';
import { parseRatio, type Ratio } from '@opentill/domain/ratio';
import type { ReferenceSource, TickerSource } from './sources/source.ts';

export interface ManualRate {
  readonly symbol: string;
  readonly currency: Currency;
  readonly value: Ratio;
}

export interface RateSettings {
  /** Each coin gets a rate in each of them. Empty: no source is asked. */
  readonly currencies: readonly Currency[];
  readonly coins: readonly PricedCoin[];
  /** They replace the sources of their pair, and need no coin of `coins`. */
  readonly manual: readonly ManualRate[];
  readonly exchanges: readonly TickerSource[];
  readonly centralBanks: readonly ReferenceSource[];
  /** Replaces every base URL: `<this>/<source>`. For a proxy in front of the sources. */
  readonly sourcesUrl: string | undefined;
  readonly rules: RateRules;
  readonly pollIntervalMs: number;
}

/** `USDT:USD`. Undefined: not a coin with its peg. */
export function parseCoin(text: string): PricedCoin | undefined {
  const [symbol = '', peg] = text.split(':');
  return isCurrency(peg) ? { symbol, peg } : undefined;
}

/** `USDT/EUR=0.92`. Undefined: not a rate. */
export function parseManualRate(text: string): ManualRate | undefined {
  const [, symbol = '', currency, rate = ''] = /^(\S+)\/([A-Z]{3})=(\S+)$/.exec(text) ?? [];
  const value = parseRatio(rate);
  return isCurrency(currency) && value !== undefined ? { symbol, currency, value } : undefined;
}
