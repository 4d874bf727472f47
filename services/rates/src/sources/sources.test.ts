import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { inverse, multiply, ONE, toDecimal } from '@opentill/domain/ratio';
import { CENTRAL_BANKS } from './central-banks.ts';
import { EXCHANGES } from './exchanges.ts';

// Answers in the documented formats (test/fixtures/README.md).
const FIXTURES = new URL('../../test/fixtures/', import.meta.url);
const answer = (file: string): string => readFileSync(new URL(file, FIXTURES), 'utf8');

const exchange = (name: string) => EXCHANGES.find((source) => source.name === name)!;
const bank = (name: string) => CENTRAL_BANKS.find((source) => source.name === name)!;

describe('exchanges', () => {
  test.each([
    ['coinbase', '0.920500'],
    ['kraken', '0.920500'],
    ['bitstamp', '0.920500'],
    ['binance', '0.920598'], // 1 / 1.08625
    ['gemini', '1.000200'],
    ['bitfinex', '1.000200'],
  ])('%s gives the middle of its order book', (name, price) => {
    expect(toDecimal(exchange(name).read(answer(`${name}.json`), '').value, 6)).toBe(price);
  });

  test('bitstamp gives the time of its price', () => {
    expect(exchange('bitstamp').read(answer('bitstamp.json'), '').atMs).toBe(
      Date.parse('2026-11-24T09:02:37Z'),
    );
  });

  test.each([
    ['coinbase', '{"message":"NotFound"}'],
    ['coinbase', '{"bid":"0.93","ask":"0.92"}'], // crossed
    ['coinbase', '{"bid":"0.90","ask":"0.92"}'], // more than 1 % wide
    ['coinbase', '{"bid":"NaN","ask":"0.92"}'],
    ['coinbase', '{"bid":"0","ask":"0.92"}'],
    ['kraken', '{"error":["EQuery:Unknown asset pair"]}'],
    ['bitstamp', '{"bid":"0.9204","ask":"0.9206","timestamp":"soon"}'],
    ['bitfinex', '["error",10020,"symbol: invalid"]'],
    ['gemini', '<html>maintenance</html>'],
  ])('%s: an answer without a price is an error: %s', (name, body) => {
    expect(() => exchange(name).read(body, '')).toThrow();
  });

  test('each pair of USDT and USDC in USD and EUR is listed by at least four exchanges', () => {
    for (const pair of ['USDT/USD', 'USDT/EUR', 'USDC/USD', 'USDC/EUR'])
      expect([pair, EXCHANGES.filter(({ pairs }) => pair in pairs).length >= 4]).toEqual([pair, true]);
  });
});

describe('central banks', () => {
  test.each([
    ['ecb', 'ecb.xml', '2026-11-23', '0.863573'],
    ['nbp', 'nbp.json', '2026-11-24', '0.863597'],
    ['cnb', 'cnb.txt', '2026-11-24', '0.863692'],
    ['bank-of-canada', 'bank-of-canada.json', '2026-11-23', '0.863563'],
  ])('%s gives Swiss francs for a dollar', (name, file, day, francs) => {
    const { atMs, valueOf } = bank(name).read(answer(file));
    expect(new Date(atMs).toISOString()).toBe(`${day}T00:00:00.000Z`);
    const rate = multiply(valueOf.get('USD') ?? ONE, inverse(valueOf.get('CHF') ?? ONE));
    expect(toDecimal(rate, 6)).toBe(francs);
  });

  test.each(['24.Nov.2026  #227', '24 Nov 2026 #227', '4.Nov.2026 #213'])(
    'cnb: reads the date of %s',
    (line) => {
      const { atMs } = bank('cnb').read(answer('cnb.txt').replace(/^.*/, line));
      const day = line.startsWith('24') ? '24' : '04';
      expect(new Date(atMs).toISOString()).toBe(`2026-11-${day}T00:00:00.000Z`);
    },
  );

  test('an amount of more than one unit is divided', () => {
    expect(toDecimal(bank('cnb').read(answer('cnb.txt')).valueOf.get('JPY') ?? ONE, 5)).toBe('0.15412');
  });

  test.each(CENTRAL_BANKS)('$name: an answer without rates is an error', (source) => {
    for (const body of [
      '',
      '<html></html>',
      '{}',
      '[]',
      '24 Nov 2026 #227\n',
      '{"observations":[{"d":"2026-11-23"}]}',
    ])
      expect(() => source.read(body)).toThrow();
  });
});
