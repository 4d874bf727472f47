import type { BlockHeader } from '@opentill/chain/block';
import { describe, expect, it } from 'vitest';
import { readerError, type ReaderErrorCode } from '@opentill/chain/reader-error';
import type { FinalityConfig } from '@opentill/contracts/network-config';
import { createFinalityWatch, type FinalityWatch } from './finality-watch.ts';

const KNOWN = { finalizedHeight: null, headHeight: 1_000 };

interface Watched {
  readonly watch: FinalityWatch;
  /** Polls after this many seconds; returns the seconds without a move. */
  look(afterSeconds: number): Promise<number>;
  answers: number | ReaderErrorCode;
}

function watched(setting: Partial<FinalityConfig> = {}): Watched {
  let nowMs = 0;
  const watch = createFinalityWatch({
    network: {
      chain: 'BSC',
      family: 'EVM',
      confirmations: 'finalized',
      finality: { staleSeconds: 100, ...setting },
      blockTimeMs: 450,
      headStaleSeconds: 45,
      symbols: new Map(),
      pollIntervalMs: 1_000,
      restIntervalMs: 30_000,
      reorgWindow: 64,
      maxBlockRange: 20,
    },
    reader: {
      finalized: () =>
        typeof own.answers === 'number'
          ? Promise.resolve({ height: own.answers } as BlockHeader)
          : Promise.reject(readerError(own.answers, 'no height')),
    },
    clock: { now: () => new Date(nowMs) },
  });
  const own: Watched = {
    watch,
    answers: 10,
    async look(afterSeconds) {
      nowMs += afterSeconds * 1_000;
      await watch.look(KNOWN, {}).catch(() => undefined);
      return watch.view().unmovedMs / 1_000;
    },
  };
  return own;
}

describe('finality watch', () => {
  it('follows a safe block down, and a final block never', async () => {
    const known = { ...KNOWN, finalizedHeight: 12 };
    expect(await watched().watch.look(known, {})).toBe(12);
    expect(await watched({ tag: 'safe' }).watch.look(known, {})).toBe(10);
  });

  it('counts time without finality from the first poll and restarts with each move', async () => {
    const finality = watched();
    expect(await finality.look(500)).toBe(0);
    expect(await finality.look(30)).toBe(30);
    expect(await finality.look(30)).toBe(60);
    finality.answers = 11;
    expect(await finality.look(30)).toBe(0);
    finality.answers = 10; // another node that is behind
    expect(await finality.look(30)).toBe(30);
  });

  it('does not count time without polls or answers', async () => {
    const finality = watched();
    await finality.look(0);
    await finality.look(30);
    expect(await finality.look(3_600)).toBe(30);
    finality.answers = 'RPC_UNAVAILABLE';
    for (let i = 0; i < 20; i += 1) expect(await finality.look(10)).toBe(30);
    finality.answers = 10;
    expect(await finality.look(10)).toBe(30);
    expect(await finality.look(10)).toBe(40);
    expect(finality.watch.view().isStale).toBe(false);
  });

  it('counts time while a node knows no final block, until the fallback applies', async () => {
    const finality = watched({ fallbackDepth: 50 });
    await finality.look(0);
    finality.answers = 'FINALITY_UNAVAILABLE';
    await finality.look(60);
    expect(await finality.look(60)).toBe(120);
    await expect(finality.watch.look(KNOWN, {})).resolves.toBe(0);
  });

  it('restarts the finality time under another lease', async () => {
    const finality = watched();
    await finality.look(0);
    await finality.look(60);
    finality.watch.forget();
    expect(await finality.look(60)).toBe(0);
  });
});
