import type { ReadOptions } from '@opentill/chain/chain-reader';

export interface AskOptions extends ReadOptions {
  /** Fails with RPC_RATE_LIMITED when the rate would delay the calls beyond the timeout. */
  readonly hurried?: boolean;
}

export interface Source {
  /** Host and port, never the path: it may contain a provider's key. Not unique. */
  readonly label: string;
  /** Time until the rate limiter permits a call. */
  waitMs(): number;
}
