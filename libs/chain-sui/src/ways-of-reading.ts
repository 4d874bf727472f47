import type { SuiSource } from './sui-sources.ts';

/** How a source is asked for checkpoints: the best that it offers. */
export type Way =
  /** A hundred at once. */
  | 'list'
  /** One by one: older nodes have no lists. */
  | 'get'
  /** Its transactions one by one: archives have balance changes only of those (sui.md section 2.4). */
  | 'contents';

/** What each source was found to offer, for a while: nodes are mended. */
export interface WaysOfReading {
  of(source: SuiSource): Way;
  /** The way failed, as one that the source does not offer. Whether there is a next one. */
  refused(source: SuiSource, way: Way): boolean;
}
