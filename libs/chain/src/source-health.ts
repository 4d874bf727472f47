import type { ReaderErrorCode } from './reader-error.ts';

/** Why a source is not asked while another one is well. */
export type SourceTrouble =
  /** It named another network; it is not asked until it names the right one. */
  | 'WRONG_CHAIN'
  /** It failed, or asked to be left alone, a moment ago. */
  | 'RESTING'
  /** Its head is behind the best source's, in blocks and in seconds. */
  | 'LAGGING'
  /** It answers, but its head has not moved for long while another source's has. */
  | 'STUCK'
  /** The reader found it unfit for good (a token that is none there): asked only when every source is unfit. */
  | 'EXCLUDED';

/** How one source (URL) of a reader does, for health checks, metrics and the operator. */
export interface SourceHealth {
  /** In the order of configuration, from 0. Tells sources of the same label apart. */
  readonly place: number;
  /** Host and port, never the path: keys of providers stand there. */
  readonly label: string;
  /** Whether it is asked now: the right chain, not resting, not left behind by the others. */
  readonly usable: boolean;
  /** Why it is not usable; null while it is. */
  readonly trouble: SourceTrouble | null;
  /**
   * Since when, in seconds since 1970, it has given no usable answer: not reached, refused, resting in between, of
   * another chain, or with a head that is old by the clock. Null after a good one. Grows through rests.
   */
  readonly failingSinceSeconds: number | null;
  /**
   * Whether its word alone is taken, since every other one has been failing for `aloneAfterSeconds`: an alarm. Never
   * with one source configured, of which nothing else can be expected.
   */
  readonly isAlone: boolean;
  /** 0 (nothing came back lately) to 1 (everything did). */
  readonly score: number;
  /** Blocks behind the best head that any source showed; null before it showed one. */
  readonly headLagBlocks: number | null;
  /** Of its last failure; null when it never failed. */
  readonly lastErrorCode: ReaderErrorCode | null;
}
