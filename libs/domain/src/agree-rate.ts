import { compare, distanceBps, mean, type Ratio } from './ratio.ts';

/** Answer of one public source. Its value is the price of one unit of the base in the quote. */
export interface Quote {
  readonly source: string;
  readonly value: Ratio;
  /** Time of the price, or of the answer where the source gives none. */
  readonly atMs: number;
}

export interface AgreementRules {
  /** A source agrees when its value is at most this far from the median. */
  readonly maxSpreadBps: number;
  readonly maxAgeMs: number;
}

export type Disagreement =
  /** Fewer than three sources have answered. */
  | 'TOO_FEW_SOURCES'
  /** Three have answered, but fewer than three lately. */
  | 'RATES_STALE'
  /** Fewer than three values are close to the median. */
  | 'SOURCES_DISAGREE';

export type Agreement =
  | { readonly agreed: true; readonly value: Ratio; readonly sources: readonly Quote[] }
  | { readonly agreed: false; readonly reason: Disagreement };

/** No rate rests on one source, and one wrong source of four changes no rate by more than the spread. */
export const AGREEING_SOURCES_MIN = 3;

/**
 * The median of the fresh quotes, then the median of those near it. At least AGREEING_SOURCES_MIN different sources
 * must remain. `quotes` has one quote per source.
 */
export function agreeOnRate(quotes: readonly Quote[], nowMs: number, rules: AgreementRules): Agreement {
  if (quotes.length < AGREEING_SOURCES_MIN) return { agreed: false, reason: 'TOO_FEW_SOURCES' };
  const fresh = quotes.filter(({ atMs }) => nowMs - atMs <= rules.maxAgeMs);
  if (fresh.length < AGREEING_SOURCES_MIN) return { agreed: false, reason: 'RATES_STALE' };
  const middle = medianOf(fresh);
  const sources = fresh.filter(({ value }) => distanceBps(value, middle) <= rules.maxSpreadBps);
  if (sources.length < AGREEING_SOURCES_MIN) return { agreed: false, reason: 'SOURCES_DISAGREE' };
  return { agreed: true, value: medianOf(sources), sources };
}

function medianOf(quotes: readonly Quote[]): Ratio {
  const sorted = quotes.map(({ value }) => value).toSorted(compare);
  const upper = sorted[sorted.length >> 1];
  const lower = sorted[(sorted.length - 1) >> 1];
  if (upper === undefined || lower === undefined) throw new RangeError('no quotes');
  return upper === lower ? upper : mean(lower, upper);
}
