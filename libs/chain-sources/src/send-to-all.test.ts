import { expect, test } from 'vitest';
import { bestOutcome } from './send-to-all.ts';

test('what one node took is not undone by what another says', () => {
  expect(bestOutcome(['EXPIRED', 'REFUSED', 'KNOWN', 'UNKNOWN'])).toBe('KNOWN');
  expect(bestOutcome(['UNKNOWN', 'EXPIRED', 'ACCEPTED'])).toBe('ACCEPTED');
  expect(bestOutcome(['UNKNOWN', 'EXPIRED'])).toBe('EXPIRED');
  expect(bestOutcome(['REFUSED', 'NO_FUNDS'])).toBe('NO_FUNDS');
  expect(bestOutcome([])).toBe('UNKNOWN');
});
