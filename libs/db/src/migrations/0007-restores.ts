import { GUARDS } from './0007-restores/guards.ts';
import { RESTORE_TABLES } from './0007-restores/tables.ts';

/**
 * What a database remembers of having been restored from a backup: which addresses were skipped, which wallets are held, and
 * which of their transactions it had forgotten. Only added to; on a database that never was restored nothing changes.
 */
export const name = '0007-restores';

export const sql = [RESTORE_TABLES, GUARDS];
