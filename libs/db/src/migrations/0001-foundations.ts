import { ROLES, SERVICE_SCHEMAS } from './0001-foundations/roles.ts';
import { MERCHANTS, ORDERS } from './0001-foundations/orders.ts';
import { CHAIN, TRACKING } from './0001-foundations/chain.ts';
import { LEDGER } from './0001-foundations/ledger.ts';
import { DELIVERIES } from './0001-foundations/deliveries.ts';
import { CREATION } from './0001-foundations/creation.ts';
import { GRANTS } from './0001-foundations/grants.ts';

/**
 * The whole schema of the first payment. Frozen: a later change is a later migration.
 *
 * Who writes what (ARCHITECTURE.md, "Services"): every table names its one writer, the grants at the end enforce it.
 * Amounts are base units in numeric(78,0). Times are timestamptz; chain times come from blocks, never from the clock.
 */
export const name = '0001-foundations';

/** In the order in which the parts need each other. */
export const sql = [
  ROLES,
  SERVICE_SCHEMAS,
  MERCHANTS,
  ORDERS,
  CHAIN,
  TRACKING,
  LEDGER,
  DELIVERIES,
  CREATION,
  GRANTS,
].join('\n');
