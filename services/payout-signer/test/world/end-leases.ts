import { sql } from 'kysely';
import type { Db } from '@opentill/db/database';

/**
 * Ends all leases of signers now, as time would after a crash. So a lease can be long enough for a busy machine, and a
 * crash costs no waiting.
 */
export async function endLeases(admin: Db): Promise<void> {
  await sql`update signer.lease set expires_at = now()`.execute(admin);
}
