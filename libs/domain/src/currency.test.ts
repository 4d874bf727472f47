import { expect, test } from 'vitest';
import { isCurrency, minorUnits, type Currency } from './currency.ts';

test('knows the minor units of ISO 4217', () => {
  const digits = Object.fromEntries(
    ['EUR', 'USD', 'JPY', 'KWD', 'VND', 'BRL', 'ISK', 'TND'].map((code) => [
      code,
      minorUnits(code as Currency),
    ]),
  );
  expect(digits).toEqual({ EUR: 2, USD: 2, JPY: 0, KWD: 3, VND: 0, BRL: 2, ISK: 0, TND: 3 });
});

test('accepts codes of currencies in use, in upper case', () => {
  expect(['EUR', 'CHF', 'eur', 'XAU', 'XXX', 'HRK', 'EURO', '', null, 978].map(isCurrency)).toEqual([
    true,
    true,
    ...Array.from({ length: 8 }, () => false),
  ]);
});
