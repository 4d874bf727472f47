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
  ['MANUAL_RATES', 'USDT/EUR=0.0000000000009', 'write rates such as USDT/EUR=0.92, from 0.000000000001'],
  ['MANUAL_RATES', `USDT/EUR=1${'0'.repeat(18)}`, 'up to 18 digits before the point'],
  [
    'MANUAL_RATES',
    'USDT/EUR=0.92,usdt/EUR=0.93',
    "has 'USDT/EUR=0.92' and 'usdt/EUR=0.93' for USDT/EUR; keep one of them",
  ],
  ['PRICE_COINS', 'USDT:USD,usdt:EUR', "PRICE_COINS has 'USDT:USD' and 'usdt:EUR' for USDT; keep one"],
  [
    'RATE_SOURCES_URL',
    'http://proxy.example.com',
    'RATE_SOURCES_URL must be https; http is for this machine',
  ],
  ['RATE_SOURCES_URL', 'http://127.0.0.1.example.com', 'RATE_SOURCES_URL must be https'],
  ['RATE_SOURCES', 'mtgox', 'RATE_SOURCES'],
])('%s=%s is a mistake that names itself', (name, value, message) => {
  expect(() => read({ [name]: value })).toThrow(message);
});

test('symbols may be written in any case', () => {
  const { coins, manual } = read({ PRICE_COINS: 'usdt:USD', MANUAL_RATES: 'usdc/EUR=0.000000000001' });
  expect([...coins, ...manual].map(({ symbol }) => symbol)).toEqual(['USDT', 'USDC']);
});

test.each([
  'https://proxy.example.com',
  'http://127.0.0.1:8080',
  'http://[::1]:8080',
  'http://localhost/rates',
])('RATE_SOURCES_URL may be %s', (url) => {
  expect(read({ RATE_SOURCES_URL: url }).sourcesUrl).toBe(url);
});
