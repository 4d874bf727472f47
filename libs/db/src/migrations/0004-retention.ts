import { CALLBACK_HISTORY } from './0004-retention/callback-history.ts';
import { HEALTH } from './0004-retention/health.ts';
import { PARTITIONS } from './0004-retention/partitions.ts';

/**
 * What is forgotten, and how without a table growing for ever: inboxes and delivery attempts by partitions that are
 * dropped, callbacks by bounded deletes. Tables are converted in place, keep their rows and names, and serve services
 * of before as they did.
 */
export const name = '0004-retention';

export const sql = [PARTITIONS, CALLBACK_HISTORY, HEALTH].join('\n');
