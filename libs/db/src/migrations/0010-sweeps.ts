import { DEPOSIT_BALANCES } from './0010-sweeps/balances.ts';
import { SWEEP_GRANTS } from './0010-sweeps/grants.ts';
import { SWEEP_LEDGER } from './0010-sweeps/ledger.ts';
import { MOVED_MONEY } from './0010-sweeps/moved-money.ts';
import { MOVEMENTS } from './0010-sweeps/movements.ts';
import { SWEEP_TABLES } from './0010-sweeps/tables.ts';

/**
 * Sweeps: what lies on each deposit address, the plans to empty them, and the gateway's own movements, which are payouts that no
 * merchant asked for. Only added to.
 */
export const name = '0010-sweeps';

export const sql = [SWEEP_TABLES, ...SWEEP_LEDGER, MOVED_MONEY, MOVEMENTS, DEPOSIT_BALANCES, SWEEP_GRANTS];
