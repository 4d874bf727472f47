import { ENDPOINTS } from './0003-callbacks/endpoints.ts';
import { REPLAYS } from './0003-callbacks/replays.ts';
import { SECRETS } from './0003-callbacks/secrets.ts';
import { WAITING } from './0003-callbacks/waiting.ts';

/**
 * Callbacks that look after themselves: what is known of each endpoint's health, a webhook secret that changes without a
 * gap, codes for what went wrong, replays as sets. Services of before go on as they did; they heed no breaker.
 */
export const name = '0003-callbacks';

export const sql = [SECRETS, ENDPOINTS, WAITING, REPLAYS].join('\n');
