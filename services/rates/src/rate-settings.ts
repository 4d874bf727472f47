import { isCurrency, type Currency } from '@opentill/domain/currency';
import type { PricedCoin, RateRules } from '@opentill/domain/decide-rate';
import { parseRatio, toDecimal, type Ratio } from '@opentill/domain/ratio';
import type { ReferenceSource, TickerSource } from './sources/source.ts';
import { RATE_DECIMALS } from './store/rates.ts';

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

/** Form of `rate.rate`. */
const STORABLE = /^(?![0.]+$)\d{1,18}\.\d+$/;

/** `USDT:USD`, with the symbol in any case. Undefined: not a coin with its peg. */
export function parseCoin(text: string): PricedCoin | undefined {
  const [symbol = '', peg] = text.split(':');
  return isCurrency(peg) ? { symbol: symbol.toUpperCase(), peg } : undefined;
}

/** `USDT/EUR=0.92`, with the symbol in any case. Undefined: not a rate, or one that cannot be stored. */
export function parseManualRate(text: string): ManualRate | undefined {
  const [, symbol = '', currency, rate = ''] = /^([A-Za-z0-9._-]{1,32})\/([A-Z]{3})=(\S+)$/.exec(text) ?? [];
  const value = parseRatio(rate);
  if (!isCurrency(currency) || value === undefined) return undefined;
  if (!STORABLE.test(toDecimal(value, RATE_DECIMALS))) return undefined;
  return { symbol: symbol.toUpperCase(), currency, value };
}
