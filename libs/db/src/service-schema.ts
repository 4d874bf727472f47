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

export type ServiceSchema = (typeof SERVICE_SCHEMAS)[number];

/** Database roles without their prefix. The service `rates` has no events and leases, and so no schema. */
export const SERVICE_ROLES = [...SERVICE_SCHEMAS, 'rates'] as const;

export type RoleName = (typeof SERVICE_ROLES)[number];

export type ServiceRole = `opentill_${RoleName}`;

export function serviceRole(name: RoleName): ServiceRole {
  return `opentill_${name}`;
}
