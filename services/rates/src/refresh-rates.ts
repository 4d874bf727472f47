import { AGREEING_SOURCES_MIN } from '@opentill/domain/agree-rate';
import type { Currency } from '@opentill/domain/currency';
import { decideRate, type PricedCoin, type RateDecision } from '@opentill/domain/decide-rate';
import { toDecimal } from '@opentill/domain/ratio';
import type { Clock } from '@opentill/runtime/clock';
import type { NewId } from '@opentill/runtime/ids';
import type { Observe } from './observe.ts';
import type { QuoteBook } from './quote-book.ts';
import type { ManualRate, RateSettings } from './rate-settings.ts';
import { RATE_DECIMALS, type PairRate, type RateStore } from './store/rates.ts';

export interface RefreshDeps {
  readonly settings: RateSettings;
  readonly book: QuoteBook;
  readonly store: RateStore;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly observe: Observe;
}

interface Pair {
  readonly coin: PricedCoin;
  readonly currency: Currency;
}

const nameOf = (symbol: string, currency: string): string => `${symbol}/${currency}`;

/** One round: asks the sources, decides the rate of each pair, and stores all of them in one transaction. */
export function createRateRefresh(deps: RefreshDeps): (stop: AbortSignal) => Promise<void> {
  const { settings, book, store, clock, observe } = deps;
  const manual = new Set(settings.manual.map(({ symbol, currency }) => nameOf(symbol, currency)));
  const market: readonly Pair[] = settings.coins.flatMap((coin) =>
    settings.currencies.flatMap((currency) =>
      manual.has(nameOf(coin.symbol, currency)) ? [] : [{ coin, currency }],
    ),
  );
  const isDirect = ({ coin, currency }: Pair): boolean =>
    settings.exchanges.filter(({ pairs }) => nameOf(coin.symbol, currency) in pairs).length >=
    AGREEING_SOURCES_MIN;
  const asked = new Set(
    market.flatMap((pair) => [
      nameOf(pair.coin.symbol, pair.coin.peg),
      ...(isDirect(pair) ? [nameOf(pair.coin.symbol, pair.currency)] : []),
    ]),
  );
  const needsReferences = market.some((pair) => pair.currency !== pair.coin.peg && !isDirect(pair));

  return async (stop) => {
    await book.refresh(asked, needsReferences, stop);
    const nowMs = clock.now().getTime();
    const rates = [
      ...settings.manual.map((rate) => manualRate(deps, rate, nowMs)),
      ...market.map((pair) => marketRate(deps, pair, isDirect(pair), nowMs)),
    ];
    await store.saveRates(rates, new Date(nowMs));
    observe.ratesSaved(rates);
  };
}

function manualRate({ settings, newId }: RefreshDeps, rate: ManualRate, nowMs: number): PairRate {
  const { symbol, currency } = rate;
  const text = toDecimal(rate.value, RATE_DECIMALS);
  return {
    symbol,
    currency,
    rate: {
      rateId: newId(),
      rate: text,
      kind: 'MANUAL',
      sources: [
        { source: 'manual', pair: nameOf(symbol, currency), value: text, at: new Date(nowMs).toISOString() },
      ],
      validUntil: new Date(nowMs + settings.rules.market.maxAgeMs),
    },
    refusal: null,
  };
}

function marketRate(deps: RefreshDeps, { coin, currency }: Pair, isDirect: boolean, nowMs: number): PairRate {
  const { settings, book, newId, observe } = deps;
  const { symbol } = coin;
  const decision = decideRate(
    coin,
    currency,
    {
      nowMs,
      pegQuotes: book.quotes(nameOf(symbol, coin.peg)),
      directQuotes: isDirect ? book.quotes(nameOf(symbol, currency)) : undefined,
      references: book.references,
    },
    settings.rules,
  );
  observe.decided(symbol, coin.peg, decision);
  return { symbol, currency, ...storedRate(decision, newId) };
}

function storedRate({ outcome }: RateDecision, newId: NewId): Pick<PairRate, 'rate' | 'refusal'> {
  if ('refused' in outcome) return { rate: null, refusal: outcome.refused };
  return {
    rate: {
      rateId: newId(),
      rate: toDecimal(outcome.value, RATE_DECIMALS),
      kind: outcome.kind,
      sources: outcome.sources.map(({ source, pair, value, atMs }) => ({
        source,
        pair,
        value: toDecimal(value, RATE_DECIMALS),
        at: new Date(atMs).toISOString(),
      })),
      validUntil: new Date(outcome.validUntilMs),
    },
    refusal: null,
  };
}
