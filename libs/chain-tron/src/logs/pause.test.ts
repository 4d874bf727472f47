import { expect, test } from 'vitest';
import { readerError } from '@opentill/chain/reader-error';
import type { TronSource } from '../tron-sources.ts';
import { createLogOffers } from './log-offers.ts';

const SOURCE = {} as TronSource;
const FAILURE = readerError('INCONSISTENT_ANSWER', 'wrong');

test('does not ask a source for 5 s after three failures in a row, then twice as long', async () => {
  let nowMs = 0;
  const offers = createLogOffers(() => nowMs);
  const fail = (error = FAILURE): Promise<unknown> =>
    offers.ask(SOURCE, () => Promise.reject(error)).catch(() => undefined);
  const waits: boolean[] = [];
  const at = (ms: number): void => {
    nowMs = ms;
    waits.push(!offers.isOffered(SOURCE));
  };
  await fail();
  await fail();
  await fail(readerError('BLOCK_NOT_FOUND', 'behind'));
  at(0);
  await fail();
  at(4_999);
  at(5_000);
  await fail();
  at(14_999);
  at(15_000);
  await offers.ask(SOURCE, () => Promise.resolve());
  await fail();
  at(15_001);
  expect(waits).toEqual([false, true, false, true, false, false]);
});
