import type { Lease } from '@opentill/db/lease';

export type Pass = (lease: Lease, signal: AbortSignal, options?: PassOptions) => Promise<void | 'again'>;

export interface PassOptions {
  /** The chain is halted: stored bytes are sent, and no transaction is signed. @default false */
  readonly sendsOnly?: boolean;
}
