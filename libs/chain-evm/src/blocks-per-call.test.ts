import { expect, it } from 'vitest';
import { createBlocksPerCall } from './blocks-per-call.ts';

it('asks for as many blocks as have 9,000 logs, by the fullest of the last calls', () => {
  const perCall = createBlocksPerCall();
  expect(perCall.now()).toBe(50);
  perCall.note({ from: 1, to: 10 }, 0);
  expect(perCall.now()).toBe(Number.POSITIVE_INFINITY);
  perCall.note({ from: 11, to: 20 }, 650);
  perCall.note({ from: 21, to: 30 }, 100);
  expect(perCall.now()).toBe(138);
  perCall.note({ from: 31, to: 31 }, 20_000);
  expect(perCall.now()).toBe(1);
  for (let count = 0; count < 8; count += 1) perCall.note({ from: 1, to: 10 }, 100);
  expect(perCall.now()).toBe(900);
});
