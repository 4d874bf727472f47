import { expect, test } from 'vitest';
import { bestOutcome } from './send-to-all.ts';

test('prefers a node’s acceptance to another node’s rejection', () => {
  expect(bestOutcome(['EXPIRED', 'REFUSED', 'KNOWN', 'UNKNOWN'])).toBe('KNOWN');
  expect(bestOutcome(['UNKNOWN', 'EXPIRED', 'ACCEPTED'])).toBe('ACCEPTED');
  expect(bestOutcome(['UNKNOWN', 'EXPIRED'])).toBe('EXPIRED');
  expect(bestOutcome(['REFUSED', 'NO_FUNDS'])).toBe('NO_FUNDS');
  expect(bestOutcome([])).toBe('UNKNOWN');
});
