import { describe, expect, it } from 'vitest';
import type { Chain } from '@opentill/domain/chains';
import { createChainFigures, healthOf, type ChainFigures } from './chain-figures.ts';
import { livenessOf, RESTART_AFTER_MS } from './liveness.ts';

const STARTED_AT_MS = 1_000_000;
const network = {
  chain: 'BSC',
  family: 'EVM',
  confirmations: 'finalized',
  blockTimeMs: 450,
  headStaleSeconds: 45,
  symbols: new Map(),
  pollIntervalMs: 1_000,
  restIntervalMs: 30_000,
  reorgWindow: 64,
  maxBlockRange: 20,
} as const;

function figure(partial: Partial<ChainFigures> = {}): ChainFigures {
  return { ...createChainFigures(), network, watchedAtMs: STARTED_AT_MS, ...partial };
}

/** Judged `afterMs` after the start. */
function judge(afterMs: number, ...chains: readonly ChainFigures[]) {
  const names: readonly Chain[] = ['BSC', 'ETH'];
  const figures = new Map(chains.map((one, place) => [names[place] ?? 'POLYGON', one] as const));
  return livenessOf(figures, STARTED_AT_MS + afterMs);
}

const LATE_MS = RESTART_AFTER_MS + 1;
const failing = figure({ failedAtMs: STARTED_AT_MS + LATE_MS });
const succeeding = figure({ tickedAtMs: STARTED_AT_MS + LATE_MS });

describe('livenessOf', () => {
  it('calls a chain without progress unready first, and its process stalled much later', () => {
    const afterReadinessMs = 31_000;
    const stuck = figure();
    expect(healthOf(stuck, new Map(), STARTED_AT_MS + afterReadinessMs).ok).toBe(false);
    expect(judge(afterReadinessMs, stuck)).toEqual({ ok: true });
    expect(judge(RESTART_AFTER_MS, stuck)).toEqual({ ok: true });
    expect(judge(LATE_MS, stuck)).toEqual({ ok: false, detail: 'no round ended for 10 min: BSC' });
  });

  it('asks for a restart when every chain has failed for ten minutes', () => {
    expect(judge(LATE_MS, failing, failing)).toEqual({
      ok: false,
      detail: 'no successful round for 10 min: BSC, ETH',
    });
  });

  it('does not restart healthy chains because of one that fails', () => {
    expect(judge(LATE_MS, failing, succeeding)).toEqual({ ok: true });
  });

  it('asks for a restart when the rounds of one of two chains no longer end', () => {
    expect(judge(LATE_MS, figure({ tickedAtMs: STARTED_AT_MS }), succeeding).ok).toBe(false);
    expect(judge(LATE_MS, figure({ failedAtMs: STARTED_AT_MS }), succeeding).ok).toBe(false);
  });

  it('does not restart for a chain that needs an operator', () => {
    const halted = { ...failing, halted: 'REORG_TOO_DEEP' };
    expect(judge(LATE_MS, halted)).toEqual({ ok: true });
    expect(judge(LATE_MS, halted, failing).ok).toBe(false);
    const leftOut = figure({ leftOut: { code: 'WRONG_CHAIN', detail: 'chain id 1' } as never });
    expect(judge(LATE_MS, leftOut)).toEqual({ ok: true });
  });

  it('is alive without a chain, and before the scan starts', () => {
    expect(judge(LATE_MS)).toEqual({ ok: true });
    expect(judge(LATE_MS, createChainFigures())).toEqual({ ok: true });
  });
});
