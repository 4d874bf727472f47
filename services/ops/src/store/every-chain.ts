import { sql } from 'kysely';

/** For indexes that begin with the chain. Also names chains that are no longer in the networks file. */
export const EVERY_CHAIN = sql`array(select chain from chain_family)`;
