import {
  AGREEING_SOURCES_MIN,
  agreeOnRate,
  type AgreementRules,
  type Disagreement,
  type Quote,
} from './agree-rate.ts';
import type { Currency } from './currency.ts';
import { distanceBps, inverse, multiply, ONE, type Ratio } from './ratio.ts';

/** A stablecoin and the currency that it promises to be worth. */
export interface PricedCoin {
  readonly symbol: string;
  readonly peg: Currency;
}

/** Reference rates of one central bank: the value of one unit of each currency, in a unit of the bank's choice. */
export interface ReferenceTable {
  readonly source: string;
  readonly atMs: number;
  readonly valueOf: ReadonlyMap<string, Ratio>;
}

export interface RateFacts {
  readonly nowMs: number;
  /** Prices of the coin in its peg. */
  readonly pegQuotes: readonly Quote[];
  /** Prices of the coin in the currency; undefined where too few sources list the pair. */
  readonly directQuotes: readonly Quote[] | undefined;
  /** Used for currencies without direct quotes. */
  readonly references: readonly ReferenceTable[];
}

export interface RateRules {
  readonly market: AgreementRules;
  readonly references: AgreementRules;
  /** A coin this close to its peg is worth its peg. Farther away it counts as depegged. */
  readonly pegToleranceBps: number;
  readonly whenDepegged: 'REFUSE' | 'MARKET';
}

export type RateRefusal = Disagreement | 'DEPEGGED';

export interface UsedQuote extends Quote {
  /** For example USDT/EUR. */
  readonly pair: string;
}

export interface DecidedRate {
  /** PEG: par, because the coin is near its peg. MARKET: agreed market price. */
  readonly kind: 'PEG' | 'MARKET';
  /** Price of one coin in the currency. */
  readonly value: Ratio;
  readonly sources: readonly UsedQuote[];
  /** Until then three of its market quotes are fresh. */
  readonly validUntilMs: number;
}

export interface RateDecision {
  /** Distance of the coin from its peg; undefined while its sources do not agree. */
  readonly pegDistanceBps: number | undefined;
  readonly isDepegged: boolean;
  readonly outcome: DecidedRate | { readonly refused: RateRefusal };
}

/**
 * Price of a coin in a currency. A coin has no rate in any currency while its sources do not agree on a price in its
 * peg: it may have left the peg.
 */
export function decideRate(
  { symbol, peg }: PricedCoin,
  currency: Currency,
  facts: RateFacts,
  rules: RateRules,
): RateDecision {
  const market = agreeOnRate(facts.pegQuotes, facts.nowMs, rules.market);
  if (!market.agreed)
    return { pegDistanceBps: undefined, isDepegged: false, outcome: { refused: market.reason } };
  const pegDistanceBps = distanceBps(market.value, ONE);
  const isDepegged = pegDistanceBps > rules.pegToleranceBps;
  const decided = (outcome: RateDecision['outcome']) => ({ pegDistanceBps, isDepegged, outcome });
  if (isDepegged && rules.whenDepegged === 'REFUSE') return decided({ refused: 'DEPEGGED' });
  const pegSources = named(`${symbol}/${peg}`, market.sources);
  const pegValidUntilMs = validUntil(market.sources, rules.market);
  if (currency === peg) {
    const of = { sources: pegSources, validUntilMs: pegValidUntilMs };
    return decided(
      isDepegged ? { kind: 'MARKET', value: market.value, ...of } : { kind: 'PEG', value: ONE, ...of },
    );
  }
  if (facts.directQuotes !== undefined) {
    const direct = agreeOnRate(facts.directQuotes, facts.nowMs, rules.market);
    if (!direct.agreed) return decided({ refused: direct.reason });
    const sources = named(`${symbol}/${currency}`, direct.sources);
    const validUntilMs = Math.min(pegValidUntilMs, validUntil(direct.sources, rules.market));
    return decided({ kind: 'MARKET', value: direct.value, sources, validUntilMs });
  }
  const exchange = agreeOnRate(crossRates(peg, currency, facts.references), facts.nowMs, rules.references);
  if (!exchange.agreed) return decided({ refused: exchange.reason });
  return decided({
    kind: 'MARKET',
    value: multiply(market.value, exchange.value),
    sources: [...pegSources, ...named(`${peg}/${currency}`, exchange.sources)],
    validUntilMs: pegValidUntilMs,
  });
}

function validUntil(quotes: readonly Quote[], { maxAgeMs }: AgreementRules): number {
  const newestFirst = quotes.map(({ atMs }) => atMs).toSorted((a, b) => b - a);
  return (newestFirst[AGREEING_SOURCES_MIN - 1] ?? 0) + maxAgeMs;
}

/** Units of `currency` for one unit of `peg`, from each bank that has both. */
function crossRates(peg: Currency, currency: Currency, tables: readonly ReferenceTable[]): readonly Quote[] {
  return tables.flatMap(({ source, atMs, valueOf }) => {
    const ofPeg = valueOf.get(peg);
    const ofCurrency = valueOf.get(currency);
    if (ofPeg === undefined || ofCurrency === undefined) return [];
    return [{ source, atMs, value: multiply(ofPeg, inverse(ofCurrency)) }];
  });
}

function named(pair: string, quotes: readonly Quote[]): readonly UsedQuote[] {
  return quotes.map((quote) => ({ ...quote, pair }));
}
