import { expect, test } from 'vitest';
import type { PreparedExpiring } from '@opentill/chain/expiring-sender';
import { settlePayment } from './prepare-payments.ts';

const ready = (sun: bigint): PreparedExpiring => ({
  kind: 'READY',
  feeLimitBaseUnits: sun,
  costBaseUnits: sun + 1n,
  takes: { workUnits: sun / 100n, bytes: 345n },
});
const not = (obstacle: 'WOULD_FAIL' | 'UNCLEAR' | 'FEES_ABOVE_CAP'): PreparedExpiring => ({
  kind: 'OBSTACLE',
  obstacle,
  detail: `it is ${obstacle}`,
});
const fails = not('WOULD_FAIL');
const dear = not('FEES_ABOVE_CAP');

test.each<readonly [string, readonly PreparedExpiring[], object]>([
  ['the only one that counts says so', [ready(5n)], ready(5n)],
  ['two say so, at the most of both', [ready(10n), ready(64_285n)], ready(64_285n)],
  ['two of three say so', [ready(7n), dear, ready(5n)], ready(7n)],
  ['two of three say so, against a failure', [fails, ready(5n), ready(5n)], ready(5n)],
])('a payment can be made where %s', (_, verdicts, settled) => {
  expect(settlePayment(verdicts)).toEqual(settled);
});

test.each<readonly [string, readonly PreparedExpiring[], string]>([
  ['one of two says that it fails', [ready(5n), fails], 'UNCLEAR'],
  ['one of two says that it fails, and is asked first', [fails, ready(5n)], 'UNCLEAR'],
  ['two of three say that it fails', [fails, ready(5n), fails], 'WOULD_FAIL'],
  ['the only one says that it fails', [fails], 'WOULD_FAIL'],
  ['one of two does not know', [ready(5n), not('UNCLEAR')], 'UNCLEAR'],
  ['it is too dear by one of two', [ready(5n), dear], 'FEES_ABOVE_CAP'],
  ['it is too dear by one, and fails by another', [fails, dear], 'FEES_ABOVE_CAP'],
  ['nobody says', [], 'UNCLEAR'],
])('it waits where %s', (_, verdicts, obstacle) => {
  expect(settlePayment(verdicts)).toMatchObject({ kind: 'OBSTACLE', obstacle });
});
