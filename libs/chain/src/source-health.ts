import type { ReaderErrorCode } from './reader-error.ts';

/** How one source (URL) of a reader does, for health checks, metrics and the operator. */
export interface SourceHealth {
  /** Host and port, never the path: keys of providers stand there. */
  readonly label: string;
  /** Whether it is asked now: the right chain, not resting, not left behind by the others. */
  readonly usable: boolean;
  /** 0 (nothing came back lately) to 1 (everything did). */
  readonly score: number;
  /** Blocks behind the best head that any source showed; null before it showed one. */
  readonly headLagBlocks: number | null;
  /** Of its last failure; null when it never failed. */
  readonly lastErrorCode: ReaderErrorCode | null;
}
