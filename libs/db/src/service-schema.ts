/** The schemas of the services: each holds one service's outbox, inbox and leases. */
export const SERVICE_SCHEMAS = [
  'api',
  'scanner_evm',
  'scanner_tron',
  'scanner_sui',
  'tracker',
  'signer',
  'webhook',
  'ops',
] as const;

/** A service's schema; its database role is `opentill_<schema>`. */
export type ServiceSchema = (typeof SERVICE_SCHEMAS)[number];

/** Name of the database role that owns nothing but may write what its service writes. */
export type ServiceRole = `opentill_${ServiceSchema}`;

/** The database role of a service. */
export function serviceRole(schema: ServiceSchema): ServiceRole {
  return `opentill_${schema}`;
}
