import { expect, test } from '@jest/globals';
import { createSentPayments } from './sent-payments.ts';

function aStorage() {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  };
}

test('what a wallet has sent is known after a reload, for the same sum of the same order, for a while', () => {
  const storage = aStorage();
  let now = 0;
  const open = (orderId: string) => createSentPayments(orderId, storage, () => now);
  open('a').remember('250.00', 'MetaMask');
  expect(open('a').find('250.00')).toBe('MetaMask');
  expect(open('a').find('40.00')).toBeUndefined();
  expect(open('b').find('250.00')).toBeUndefined();
  now = 5 * 60_000;
  expect(open('a').find('250.00')).toBeUndefined();
});

test('works where nothing may be stored', () => {
  const forbidden = {
    getItem: () => {
      throw new Error('forbidden');
    },
    setItem: () => {
      throw new Error('full');
    },
  };
  const sent = createSentPayments('a', forbidden, () => 0);
  expect(sent.find('1')).toBeUndefined();
  sent.remember('1', 'Wallet');
  expect(sent.find('1')).toBe('Wallet');
});
