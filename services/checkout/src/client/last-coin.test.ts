import { expect, test } from 'vitest';
import { aStorage } from '../../test/support/a-storage.ts';
import { createLastCoin } from './last-coin.ts';

test('remembers the coin for the next page, unless storage is forbidden', () => {
  const storage = aStorage();
  const coin = createLastCoin(storage);
  coin.set('TRON USDT');
  expect([coin.get(), createLastCoin(storage).get()]).toEqual([null, 'TRON USDT']);
  const forbid = () => {
    throw new Error('forbidden');
  };
  const forbidden = createLastCoin({ getItem: forbid, setItem: forbid });
  forbidden.set('TRON USDT');
  expect(forbidden.get()).toBeNull();
});
