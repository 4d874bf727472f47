import type { SuiSource } from './sui-sources.ts';

/** Method of requesting checkpoints; the best that a source offers is used. */
export type Way =
  /** Up to 100 per call. */
  | 'list'
  /** One by one, for older nodes without lists. */
  | 'get'
  /** The checkpoint, then its transactions by digest, for archives: they have balance changes only there. */
  | 'contents';

/** The method that each source supports, remembered for a minute: nodes get upgraded. */
export interface WaysOfReading {
  of(source: SuiSource): Way;
  /** Notes that the source does not support `way`. True if there is another one to try. */
  refused(source: SuiSource, way: Way): boolean;
}
