/** Only ADMIN releases halts, holds and pauses. SECURITY.md lists the routes of each role. */
export const OPERATOR_ROLES = ['VIEWER', 'SUPPORT', 'FINANCE', 'ADMIN'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

export const ALL_ROLES: readonly OperatorRole[] = [...OPERATOR_ROLES];
export const SUPPORT_ROLES: readonly OperatorRole[] = ['SUPPORT', 'ADMIN'];
export const FINANCE_ROLES: readonly OperatorRole[] = ['FINANCE', 'ADMIN'];
export const INCIDENT_ROLES: readonly OperatorRole[] = ['SUPPORT', 'FINANCE', 'ADMIN'];
export const ADMIN_ROLES: readonly OperatorRole[] = ['ADMIN'];
