import { expect, test } from 'vitest';
import { chainStatusText, mergeChainReports, type ChainReports } from './chain-status.ts';

const since = new Date(0);
const running = { state: 'RUNNING', reason: null, detail: null, since } as const;
const merged = (reports: Partial<ChainReports>) =>
  chainStatusText(
    mergeChainReports({ scanner: running, signer: running, pause: undefined, isScanned: true, ...reports }),
  );

test('ranks states that stop payouts over a pause, and a pause over a missing scanner', () => {
  const halted = { ...running, state: 'HALTED', reason: 'REORG_TOO_DEEP' } as const;
  const leftOut = { ...running, state: 'LEFT_OUT', reason: 'TOKEN_MISMATCH', detail: 'no contract' } as const;
  const pause = { reason: 'upgrade', since };
  expect(merged({ scanner: halted, pause, isScanned: false })).toBe('halted: REORG_TOO_DEEP');
  expect(merged({ signer: leftOut, pause })).toBe('left out: TOKEN_MISMATCH: no contract');
  expect(merged({ pause, isScanned: false })).toBe('paused: upgrade');
  expect(merged({ isScanned: false })).toBe('not scanned');
  expect(merged({ scanner: undefined })).toBe('starting');
  expect(merged({ scanner: { ...running, state: 'PAUSED', detail: 'upgrade' } })).toBe('starting');
  expect(merged({})).toBe('running');
});
