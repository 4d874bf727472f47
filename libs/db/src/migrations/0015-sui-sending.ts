import { EPOCHS } from './0015-sui-sending/epochs.ts';
import { GATHERING } from './0015-sui-sending/gathering.ts';
import { SPONSORED_FEES } from './0015-sui-sending/sponsored-fees.ts';

/**
 * What sending on SUI needs: transactions that end with epochs of the chain, fees that the hot wallet pays for deposit addresses, and
 * transactions by which a wallet moves its coins to where it pays from. Only added to.
 */
export const name = '0015-sui-sending';

export const sql = [...EPOCHS, ...GATHERING, SPONSORED_FEES];
