import type { SuiCheckpoint } from './decode-checkpoint.ts';

/** Keeps decoded checkpoints of one source until another returns the same bytes, which are then not decoded again. */
export interface DecodeOnce {
  of(height: number, bytes: Buffer, read: (bytes: Buffer) => SuiCheckpoint): SuiCheckpoint;
}

interface Kept {
  readonly bytes: Buffer;
  readonly checkpoint: SuiCheckpoint;
}

/** Sources that are far apart do not share results. */
const BYTES_MAX = 8 * 1024 * 1024;

export function createDecodeOnce(bytesMax = BYTES_MAX): DecodeOnce {
  const kept = new Map<number, Kept>();
  let total = 0;
  const forget = (height: number, { bytes }: Kept): void => {
    kept.delete(height);
    total -= bytes.length;
  };
  return {
    of(height, bytes, read) {
      const known = kept.get(height);
      if (known !== undefined) {
        forget(height, known);
        if (known.bytes.equals(bytes)) return known.checkpoint;
      }
      const checkpoint = read(bytes);
      // A copy: `bytes` is a view that would keep the whole answer in memory.
      const own = { bytes: Buffer.from(bytes), checkpoint };
      kept.set(height, own);
      total += own.bytes.length;
      for (const [oldest, one] of kept) {
        if (total <= bytesMax) break;
        forget(oldest, one);
      }
      return checkpoint;
    },
  };
}
