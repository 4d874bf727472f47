import { expect, test } from 'vitest';
import type { PreparedExpiring } from '@opentill/chain/expiring-sender';
import { asFunding, type SuiFunding } from './funding.ts';
import { settleVerdicts as settle } from './prepare-payments.ts';

const coin = (id: string, change = {}) => ({ id, version: '1', digest: 'd', startVersion: null, ...change });
function ready(change: Partial<SuiFunding> = {}, costBaseUnits = 5n): PreparedExpiring {
  const own: SuiFunding = {
    gas: 'OWN',
    gasPriceMist: 500n,
    form: 'COIN',
    withdrawnBaseUnits: 7n,
    coins: [],
    hasRest: false,
  };
  const funding = asFunding({ ...own, ...change });
  return { kind: 'READY', feeLimitBaseUnits: costBaseUnits, costBaseUnits, funding };
}
const no = (obstacle: 'WOULD_FAIL' | 'FEES_ABOVE_CAP'): PreparedExpiring => ({
  kind: 'OBSTACLE',
  obstacle,
  detail: 'no',
});
const settleVerdicts = (verdicts: readonly PreparedExpiring[], needed = 2) => settle(verdicts, needed);
const UNCLEAR = expect.objectContaining({ kind: 'OBSTACLE', obstacle: 'UNCLEAR' });
const sweep = {
  gas: 'SPONSORED',
  form: 'FUNDS',
  coins: [coin('a'), coin('b')],
  withdrawnBaseUnits: 0n,
} as const;

test('takes the higher cost when two sources agree on funds and price', () => {
  const [cheap, dear] = [ready(), ready({}, 6n)];
  expect(settleVerdicts([cheap, dear])).toBe(dear);
  expect(settleVerdicts([dear, cheap])).toBe(dear);
  expect(settleVerdicts([cheap, ready({ gasPriceMist: 600n }, 6n)])).toEqual(UNCLEAR);
});

test('pays from the own balance although one source denies it, except above the cap', () => {
  expect(settleVerdicts([no('WOULD_FAIL'), ready()])).toMatchObject({ kind: 'READY' });
  expect(settleVerdicts([ready(), no('FEES_ABOVE_CAP')])).toMatchObject({ obstacle: 'FEES_ABOVE_CAP' });
  expect(settleVerdicts([no('WOULD_FAIL'), no('WOULD_FAIL')])).toMatchObject({ obstacle: 'WOULD_FAIL' });
  expect(settleVerdicts([])).toEqual(UNCLEAR);
});

test('requires two sources to agree on coins and on the payer of the gas', () => {
  expect(settleVerdicts([ready(sweep), ready(sweep)])).toMatchObject({ kind: 'READY' });
  expect(settleVerdicts([ready(sweep)], 1)).toMatchObject({ kind: 'READY' });
  // One of several sources is not enough for holdings and payer.
  expect(settleVerdicts([ready(sweep)])).toEqual(UNCLEAR);
  for (const wrong of [
    { gas: 'GASLESS', gasPriceMist: 0n },
    { coins: [coin('a')] },
    { coins: [coin('a'), coin('c')] },
    { coins: [coin('a'), coin('b', { version: '2' })] },
    { coins: [coin('a'), coin('b', { digest: 'e' })] },
    { coins: [coin('a'), coin('b', { startVersion: '1' })] },
    { withdrawnBaseUnits: 1n },
    { hasRest: true },
  ] as const) {
    expect(settleVerdicts([ready(sweep), ready({ ...sweep, ...wrong }, 9n)])).toEqual(UNCLEAR);
    expect(settleVerdicts([ready({ ...sweep, ...wrong }, 1n), ready(sweep)])).toEqual(UNCLEAR);
  }
  expect(settleVerdicts([ready(sweep), no('WOULD_FAIL')])).toEqual(UNCLEAR);
});
