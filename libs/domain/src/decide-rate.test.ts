import { describe, expect, test } from 'vitest';
import type { Quote } from './agree-rate.ts';
import type { Currency } from './currency.ts';
import { decideRate, type RateFacts, type RateRules, type ReferenceTable } from './decide-rate.ts';
import { ONE, parseRatio, toDecimal } from './ratio.ts';

const [EUR, USD, CHF] = ['EUR', 'USD', 'CHF'] as Currency[] as [Currency, Currency, Currency];
const COIN = { symbol: 'USDT', peg: USD };
const NOW = 1_800_000_000_000;
const RULES: RateRules = {
  market: { maxSpreadBps: 50, maxAgeMs: 120_000 },
  references: { maxSpreadBps: 100, maxAgeMs: 144 * 3_600_000 },
  pegToleranceBps: 50,
  whenDepegged: 'REFUSE',
};
const SOURCES = ['one', 'two', 'three', 'four'];

const ratio = (text: string) => parseRatio(text) ?? ONE;
const quotes = (values: readonly string[], atMs = NOW): Quote[] =>
  values.map((value, i) => ({ source: SOURCES[i] ?? '', value: ratio(value), atMs }));
const AT_PEG = quotes(['1.0001', '0.9998', '1.0000', '1.0002']);
const facts = (change: Partial<RateFacts> = {}): RateFacts => ({
  nowMs: NOW,
  pegQuotes: AT_PEG,
  directQuotes: undefined,
  references: [],
  ...change,
});

function shown(currency: Currency, given: RateFacts, rules = RULES) {
  const { outcome, isDepegged } = decideRate(COIN, currency, given, rules);
  if ('refused' in outcome) return { refused: outcome.refused, isDepegged };
  const sources = outcome.sources.map(({ source, pair }) => `${source} ${pair}`);
  return { kind: outcome.kind, rate: toDecimal(outcome.value, 6), isDepegged, sources };
}

describe('direct prices', () => {
  test('takes the median of four sources', () => {
    const directQuotes = quotes(['0.9201', '0.9199', '0.9204', '0.9202']);
    expect(shown(EUR, facts({ directQuotes }))).toMatchObject({ kind: 'MARKET', rate: '0.920150' });
  });

  test.each(['0.966', '0.874', '92', '0.0001'])('leaves out a source that says %s', (wrong) => {
    const directQuotes = quotes(['0.9201', '0.9199', wrong, '0.9202']);
    expect(shown(EUR, facts({ directQuotes }))).toEqual({
      kind: 'MARKET',
      rate: '0.920100',
      isDepegged: false,
      sources: ['one USDT/EUR', 'two USDT/EUR', 'four USDT/EUR'],
    });
  });

  test('refuses when two sources of four are wrong, or two are down', () => {
    const two = quotes(['0.9201', '0.9199', '0.966', '0.966']);
    expect(shown(EUR, facts({ directQuotes: two }))).toMatchObject({ refused: 'SOURCES_DISAGREE' });
    const down = quotes(['0.9201', '0.9199']);
    expect(shown(EUR, facts({ directQuotes: down }))).toMatchObject({ refused: 'TOO_FEW_SOURCES' });
  });

  test('refuses when all sources are stale, and counts only fresh ones', () => {
    const stale = quotes(['0.9201', '0.9199', '0.92', '0.92'], NOW - 120_001);
    expect(shown(EUR, facts({ directQuotes: stale }))).toMatchObject({ refused: 'RATES_STALE' });
    const partly = [...quotes(['0.92', '0.92', '0.92']), ...stale.slice(3)];
    expect(shown(EUR, facts({ directQuotes: partly }))).toMatchObject({ rate: '0.920000' });
    expect(shown(USD, facts({ pegQuotes: quotes(['1', '1', '1'], NOW - 120_001) }))).toMatchObject({
      refused: 'RATES_STALE',
    });
  });

  test('a rate is valid until fewer than three of its quotes are fresh', () => {
    const aged = quotes(['0.92', '0.92', '0.92', '0.92']).map((quote, i) => ({
      ...quote,
      atMs: NOW - i * 1_000,
    }));
    const { outcome } = decideRate(COIN, EUR, facts({ directQuotes: aged }), RULES);
    expect(outcome).toMatchObject({ validUntilMs: NOW - 2_000 + 120_000 });
  });
});

describe('the peg', () => {
  test('prices a coin near its peg at par in its own currency', () => {
    expect(shown(USD, facts())).toMatchObject({ kind: 'PEG', rate: '1.000000', isDepegged: false });
  });

  const depegged = quotes(['0.9701', '0.9702', '0.9699', '0.9700']);
  const directQuotes = quotes(['0.892', '0.893', '0.892', '0.892']);

  test('offers a depegged coin in no currency', () => {
    for (const currency of [USD, EUR, CHF]) {
      expect(shown(currency, facts({ pegQuotes: depegged, directQuotes }))).toEqual({
        refused: 'DEPEGGED',
        isDepegged: true,
      });
    }
  });

  test('prices a depegged coin at its own market rate where the operator allows it', () => {
    const rules: RateRules = { ...RULES, whenDepegged: 'MARKET' };
    const given = facts({ pegQuotes: depegged, directQuotes });
    expect(shown(USD, given, rules)).toMatchObject({ kind: 'MARKET', rate: '0.970050', isDepegged: true });
    expect(shown(EUR, given, rules)).toMatchObject({ rate: '0.892000', isDepegged: true });
  });

  test('keeps the rate when a single source reports a depeg', () => {
    expect(shown(USD, facts({ pegQuotes: quotes(['1', '0.95', '1', '1']) }))).toMatchObject({ kind: 'PEG' });
  });

  test('without an agreed price in its peg a coin has no rate in any currency', () => {
    expect(shown(EUR, facts({ pegQuotes: quotes(['1', '1']), directQuotes }))).toMatchObject({
      refused: 'TOO_FEW_SOURCES',
    });
  });
});

describe('currencies without direct prices', () => {
  /** Each bank counts in a unit of its own. */
  const bank = (source: string, usd: string, chf: string, atMs = NOW): ReferenceTable => ({
    source,
    atMs,
    valueOf: new Map([
      ['USD', ratio(usd)],
      ['CHF', ratio(chf)],
    ]),
  });
  const references = [
    bank('a', '0.9', '1.0'),
    bank('b', '3.6', '4.0'),
    bank('c', '20.7', '23'),
    bank('d', '1', '1.11'),
  ];

  test('multiplies the market price with the reference rates on which banks agree', () => {
    expect(shown(CHF, facts({ references }))).toMatchObject({ kind: 'MARKET', rate: '0.900045' });
  });

  test('refuses when one bank is left, or all tables are old', () => {
    expect(shown(CHF, facts({ references: references.slice(0, 1) }))).toMatchObject({
      refused: 'TOO_FEW_SOURCES',
    });
    const old = references.map((table) => ({ ...table, atMs: NOW - 145 * 3_600_000 }));
    expect(shown(CHF, facts({ references: old }))).toMatchObject({ refused: 'RATES_STALE' });
  });
});
