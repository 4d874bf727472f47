import { LANDED } from './0016-sui-fates/landed.ts';
import { REBATES } from './0016-sui-fates/rebates.ts';

/** What the chain made of transactions of SUI: which of them the own scan has read, and fees that are less than nothing. Only added to. */
export const name = '0016-sui-fates';

export const sql = [...LANDED, ...REBATES];
