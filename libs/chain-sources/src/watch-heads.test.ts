import { describe, expect, it } from 'vitest';
import type { HeadWatch } from './watch-heads.ts';
import { createHeadWatch } from './watch-heads.ts';

const BLOCK_MS = 2_000;

function watch(blockMs = BLOCK_MS): {
  heads: HeadWatch;
  pass: (seconds: number) => void;
  epochSeconds: () => number;
  head: (behind?: number) => { height: number; timeSeconds: number };
} {
  let seconds = 1_000_000;
  return {
    heads: createHeadWatch({
      blockTimeMs: blockMs,
      staleSeconds: 60,
      nowMs: () => seconds * 1_000,
      epochSeconds: () => seconds,
    }),
    pass: (by) => (seconds += by),
    epochSeconds: () => seconds,
    head: (behind = 0) => {
      const height = Math.floor((seconds * 1_000) / blockMs) - behind;
      return { height, timeSeconds: (height * blockMs) / 1_000 };
    },
  };
}

describe('createHeadWatch', () => {
  it('returns no data about a source without a head', () => {
    const { heads } = watch();
    expect([heads.trouble(0), heads.lagBlocks(0), heads.notedAtMs(0)]).toEqual([null, null, -Infinity]);
  });

  it('reports a source that lags in blocks and in seconds, until it has caught up', () => {
    const { heads, head, pass } = watch();
    heads.note(0, head());
    heads.note(1, head(5)); // ten seconds
    expect(heads.trouble(1)).toBeNull();
    heads.note(1, head(6));
    expect([heads.trouble(1), heads.lagBlocks(1)]).toEqual(['LAGGING', 6]);
    const late = head(4);
    pass(4);
    heads.note(1, late);
    expect(heads.trouble(1)).toBe('LAGGING');
    heads.note(1, head(2));
    expect(heads.trouble(1)).toBeNull();
    expect(heads.trouble(0)).toBeNull();
  });

  it('does not report lag of a recent head when another source claims a higher one', () => {
    const { heads, head } = watch();
    const honest = head();
    heads.note(0, { height: honest.height + 50, timeSeconds: honest.timeSeconds + 40 });
    heads.note(1, honest);
    expect([heads.trouble(1), heads.lagBlocks(1)]).toEqual([null, 50]);
  });

  it('does not report lag of a source that was not asked for long', () => {
    const { heads, head, pass } = watch();
    heads.note(0, head());
    heads.note(1, head());
    pass(600);
    heads.note(0, head());
    expect(heads.trouble(1)).toBeNull();
    heads.note(1, head());
    expect([heads.trouble(1), heads.lagBlocks(1)]).toEqual([null, 0]);
  });

  it('reports a source as stuck only if another source’s head moves', () => {
    const { heads, head, pass } = watch();
    const old = head();
    heads.note(0, old);
    heads.note(1, old);
    for (let seconds = 0; seconds < 120; seconds += 10) {
      pass(10);
      heads.note(0, old);
      heads.note(1, old);
    }
    expect([heads.trouble(0), heads.trouble(1)]).toEqual([null, null]);
    heads.note(0, { ...old, height: old.height + 1 });
    heads.note(1, old);
    expect(heads.trouble(1)).toBe('STUCK');
    heads.note(1, { ...old, height: old.height + 1 });
    expect(heads.trouble(1)).toBeNull();
  });

  it('reports no lag because of invented heads on a chain of slow blocks', () => {
    const { heads, head, pass, epochSeconds } = watch(12_000);
    const troubles: unknown[] = [];
    for (let minute = 0; minute < 60; minute += 1) {
      pass(55 + (minute % 11)); // at any moment of a slot
      const honest = head();
      heads.note(0, {
        height: honest.height + 5,
        timeSeconds: Math.min(honest.timeSeconds + 59, epochSeconds() + 59),
      });
      heads.note(1, honest);
      troubles.push(heads.trouble(1));
    }
    expect(new Set(troubles)).toEqual(new Set([null]));
    // It lagged once; with its newest head it is usable, regardless of the other source's invention.
    heads.note(1, head(10));
    expect(heads.trouble(1)).toBe('LAGGING');
    heads.note(1, head());
    expect(heads.trouble(1)).toBeNull();
  });

  it('records since when a source reports only old heads', () => {
    const { heads, head, pass } = watch();
    const old = head();
    heads.note(0, old);
    expect(heads.oldSinceMs(0)).toBeUndefined();
    pass(61);
    heads.note(0, old);
    const since = heads.oldSinceMs(0);
    expect(since).toBeDefined();
    pass(20);
    heads.note(0, old);
    expect(heads.oldSinceMs(0)).toBe(since);
    heads.note(0, head());
    expect(heads.oldSinceMs(0)).toBeUndefined();
  });

  it('ignores a head from the future', () => {
    const { heads, head } = watch();
    heads.note(0, { height: 1e9, timeSeconds: head().timeSeconds + 3_600 });
    heads.note(1, head());
    expect(heads.trouble(1)).toBeNull();
  });
});
