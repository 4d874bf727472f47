import { CALLBACK_HISTORY, NOTIFICATION_TIMES } from './0004-retention/callback-history.ts';
import { HEALTH } from './0004-retention/health.ts';
import { INDEXES } from './0004-retention/indexes.ts';
import {
  ATTEMPTS_BY_THEMSELVES,
  PARTITIONED,
  partitionTable,
  PARTITIONS,
  UUID_AT,
} from './0004-retention/partitions.ts';

/**
 * What is forgotten, and how without a table growing for ever: inboxes and delivery attempts by partitions that are
 * dropped, callbacks by bounded deletes. Tables are converted in place, one after the other, keep their rows and names, and
 * serve services of before as they did, which go on meanwhile.
 */
export const name = '0004-retention';

export const sql = [
  NOTIFICATION_TIMES,
  ...INDEXES,
  UUID_AT,
  ATTEMPTS_BY_THEMSELVES,
  ...PARTITIONED.map(partitionTable),
  PARTITIONS,
  CALLBACK_HISTORY,
  HEALTH,
];
