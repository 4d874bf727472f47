import { expect, test } from 'vitest';
import { toDecimal } from '@opentill/domain/ratio';
import { readRatesConfig } from './config.ts';

const read = (env: Record<string, string> = {}) =>
  readRatesConfig({ DATABASE_URL: 'postgres://opentill_rates@db/opentill', ...env }).rates;

test('offers no currency and asks no source by default', () => {
  expect(read()).toMatchObject({ currencies: [], manual: [], rules: { whenDepegged: 'REFUSE' } });
});

test('reads currencies, coins, manual rates and sources', () => {
  const settings = read({
    PRICE_CURRENCIES: 'EUR,CHF',
    PRICE_COINS: 'USDC:USD,EURC:EUR',
    MANUAL_RATES: 'USDC/CHF=0.8125',
    RATE_SOURCES: 'kraken,coinbase,ecb',
    RATE_MAX_AGE_SECONDS: '60',
    DEPEG_ACTION: 'market',
  });
  expect(settings).toMatchObject({
    currencies: ['EUR', 'CHF'],
    coins: [
      { symbol: 'USDC', peg: 'USD' },
      { symbol: 'EURC', peg: 'EUR' },
    ],
    rules: { whenDepegged: 'MARKET', market: { maxAgeMs: 60_000 } },
    pollIntervalMs: 15_000,
  });
  expect(settings.manual.map(({ value }) => toDecimal(value, 4))).toEqual(['0.8125']);
  expect([...settings.exchanges, ...settings.centralBanks].map(({ name }) => name)).toEqual([
    'coinbase',
    'kraken',
    'ecb',
  ]);
});

test.each([
  ['PRICE_CURRENCIES', 'EURO', "PRICE_CURRENCIES has 'EURO'; write codes of ISO 4217, such as EUR"],
  ['PRICE_COINS', 'USDT:XXX', "PRICE_COINS has 'USDT:XXX'; write coins with the currency of their peg"],
  ['MANUAL_RATES', 'USDT/EUR=0', "MANUAL_RATES has 'USDT/EUR=0'; write rates such as USDT/EUR=0.92"],
  ['MANUAL_RATES', 'USDT/EUR=1e-2', "MANUAL_RATES has 'USDT/EUR=1e-2'"],
  ['RATE_SOURCES', 'mtgox', 'RATE_SOURCES'],
])('%s=%s is a mistake that names itself', (name, value, message) => {
  expect(() => read({ [name]: value })).toThrow(message);
});
