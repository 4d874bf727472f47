import type { ReaderErrorCode } from './reader-error.ts';

/** Reasons why a source is not asked while another one is usable. */
export type SourceTrouble =
  /** It reported another network; it is not asked until it reports the right one. */
  | 'WRONG_CHAIN'
  /** In backoff: it just failed or reported a rate limit. */
  | 'RESTING'
  /** Its head is behind the best source's, measured in blocks and in seconds. */
  | 'LAGGING'
  /** It answers, but its head has not moved for long while another source's head has. */
  | 'STUCK'
  /** The start-up checks excluded it (a token is missing, for example); asked only when every source is excluded. */
  | 'EXCLUDED';

export interface SourceHealth {
  /** From 0. Distinguishes sources with the same label. */
  readonly place: number;
  /** Host and port, never the path: it may contain a provider's key. */
  readonly label: string;
  /** On the right chain, not in backoff, and not far behind the others. */
  readonly usable: boolean;
  readonly trouble: SourceTrouble | null;
  /**
   * Seconds since 1970. Failing: unreachable, rejecting, in backoff, on another chain, or with an old head.
   * Null after a good answer; a backoff does not reset it.
   */
  readonly failingSinceSeconds: number | null;
  /** A single source is accepted (see `aloneAfterSeconds`): raise an alarm. Never true with one configured source. */
  readonly isSingleSource: boolean;
  /** 0 (no recent request succeeded) to 1 (all did). */
  readonly score: number;
  /** Blocks behind the best head that any source reported; null before it reported one. */
  readonly headLagBlocks: number | null;
  readonly lastErrorCode: ReaderErrorCode | null;
}
