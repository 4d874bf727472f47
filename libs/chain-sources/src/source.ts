import type { ReadOptions } from '@opentill/chain/chain-reader';

export interface AskOptions extends ReadOptions {
  /** Whether to give up with RPC_RATE_LIMITED when the rate lets the calls through only after the timeout. */
  readonly hurried?: boolean;
}

/** One URL of a network; what it is asked, its family adds. */
export interface Source {
  /** Host and port, never the path: keys of providers stand there. Not unique: two accounts at one provider. */
  readonly label: string;
  /** Milliseconds until the provider's limit lets a call through. */
  waitMs(): number;
}
