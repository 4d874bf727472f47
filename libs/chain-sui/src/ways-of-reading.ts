import type { SuiSource } from './sui-sources.ts';

/** Method of requesting checkpoints; the best that a source offers is used. */
export type FetchMethod =
  /** Up to 100 per call. */
  | 'list'
  /** One by one, for older nodes without lists. */
  | 'get'
  /** The checkpoint, then its transactions by digest, for archives: they have balance changes only there. */
  | 'contents';

/** The method that each source supports, remembered for a minute: nodes get upgraded. */
export interface FetchMethods {
  of(source: SuiSource): FetchMethod;
  /** Returns true if there is another method to try. */
  markUnsupported(source: SuiSource, method: FetchMethod): boolean;
}
