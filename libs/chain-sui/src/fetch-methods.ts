import type { SuiSource } from './sui-sources.ts';

export type FetchMethod =
  /** Up to 100 per call. */
  | 'list'
  /** One by one, for older nodes without lists. */
  | 'get'
  /** The checkpoint, then its transactions by digest, for archives: they have balance changes only there. */
  | 'contents';

/** Remembered for a minute: nodes get upgraded. */
export interface FetchMethods {
  of(source: SuiSource): FetchMethod;
  markUnsupported(source: SuiSource, method: FetchMethod): boolean;
}
