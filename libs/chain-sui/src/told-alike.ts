import type { SuiCheckpoint } from './decode-checkpoint.ts';

/**
 * Remembers what one source told of a checkpoint until the other one tells the same, byte for byte: it is read once. Nothing is
 * believed by it that would not be read out of the second one's own bytes.
 */
export interface ToldAlike {
  /** What `read` makes of the bytes, or made of the same ones. */
  of(height: number, bytes: Buffer, read: (bytes: Buffer) => SuiCheckpoint): SuiCheckpoint;
}

interface Kept {
  readonly bytes: Buffer;
  readonly checkpoint: SuiCheckpoint;
}

/** Sources that are far apart tell it to nobody, and each is read by itself. */
const BYTES_MAX = 8 * 1024 * 1024;

export function createToldAlike(bytesMax = BYTES_MAX): ToldAlike {
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
      // A copy: these are a part of a whole answer, which would stay with them.
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
