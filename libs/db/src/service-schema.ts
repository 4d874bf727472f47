/** Each contains one service's outbox, inbox and leases. */
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

/** Its database role is `opentill_<schema>`. */
export type ServiceSchema = (typeof SERVICE_SCHEMAS)[number];

export type ServiceRole = `opentill_${ServiceSchema}`;

export function serviceRole(schema: ServiceSchema): ServiceRole {
  return `opentill_${schema}`;
}
