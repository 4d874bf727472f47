/**
 * Where nothing but the scanner reads back what was done since a backup (SUI), it notes what deposit addresses did as well, for as long as
 * a restore holds wallets of the chain. Only added to.
 */
export const name = '0019-restored-deposits';

export const sql = 'grant select on restore_hold to opentill_scanner_sui';
