import { describe, expect, it } from 'vitest';
import { verifiableHeight, type DepthFacts } from './depth.ts';

const facts = (partial: Partial<DepthFacts> = {}): DepthFacts => ({
  linkedHeight: 1_000,
  finalizedHeight: 990,
  isFinalityStale: false,
  ...partial,
});

describe('verifiableHeight', () => {
  it('returns the height at the given number of confirmations', () => {
    expect(verifiableHeight({ confirmations: 1 }, facts())).toBe(1_000);
    expect(verifiableHeight({ confirmations: 15 }, facts())).toBe(986);
    expect(verifiableHeight({ confirmations: 15 }, facts({ linkedHeight: 3 }))).toBe(-11);
  });

  it('returns the finalized height, but never above the linked block', () => {
    const network = { confirmations: 'finalized' } as const;
    expect(verifiableHeight(network, facts())).toBe(990);
    expect(verifiableHeight(network, facts({ finalizedHeight: 5_000 }))).toBe(1_000);
    expect(verifiableHeight(network, facts({ finalizedHeight: null }))).toBe(-1);
  });

  it('requires minDepth in addition to finality', () => {
    const network = { confirmations: 'finalized', finality: { staleSeconds: 30, minDepth: 16 } } as const;
    expect(verifiableHeight(network, facts())).toBe(985);
    expect(verifiableHeight(network, facts({ finalizedHeight: 900 }))).toBe(900);
  });

  it('uses fallbackDepth while finality is stale, or keeps the finalized height', () => {
    const stale = facts({ finalizedHeight: 700, isFinalityStale: true });
    const holding = { confirmations: 'finalized', finality: { staleSeconds: 60, minDepth: 16 } } as const;
    expect(verifiableHeight(holding, stale)).toBe(700);
    const bsc = {
      confirmations: 'finalized',
      finality: { staleSeconds: 30, minDepth: 15, fallbackDepth: 240 },
    } as const;
    expect(verifiableHeight(bsc, stale)).toBe(761);
    expect(verifiableHeight(bsc, { ...stale, finalizedHeight: 800 })).toBe(800); // never below the finalized height
    expect(verifiableHeight(bsc, { ...stale, isFinalityStale: false })).toBe(700);
    expect(verifiableHeight(bsc, { ...stale, finalizedHeight: null })).toBe(761);
  });
});
