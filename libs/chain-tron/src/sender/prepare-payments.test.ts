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
  ['the only source accepts it', [ready(5n)], ready(5n)],
  ['two sources accept it, at the higher fee limit', [ready(10n), ready(64_285n)], ready(64_285n)],
  ['two of three accept it and one is above the cap', [ready(7n), dear, ready(5n)], ready(7n)],
  ['two of three accept it and one rejects it', [fails, ready(5n), ready(5n)], ready(5n)],
])('a payment is READY if %s', (_, verdicts, settled) => {
  expect(settlePayment(verdicts)).toEqual(settled);
});

test.each<readonly [string, readonly PreparedExpiring[], string]>([
  ['the second of two sources rejects it', [ready(5n), fails], 'UNCLEAR'],
  ['the first of two sources rejects it', [fails, ready(5n)], 'UNCLEAR'],
  ['two of three sources reject it', [fails, ready(5n), fails], 'WOULD_FAIL'],
  ['the only source rejects it', [fails], 'WOULD_FAIL'],
  ['one of two sources does not know', [ready(5n), not('UNCLEAR')], 'UNCLEAR'],
  ['one of two sources is above the cap', [ready(5n), dear], 'FEES_ABOVE_CAP'],
  ['one source is above the cap and one rejects it', [fails, dear], 'FEES_ABOVE_CAP'],
  ['no source answers', [], 'UNCLEAR'],
])('a payment has an obstacle if %s', (_, verdicts, obstacle) => {
  expect(settlePayment(verdicts)).toMatchObject({ kind: 'OBSTACLE', obstacle });
});
