/** Only ADMIN releases halts, holds and pauses. SECURITY.md lists the routes of each role. */
export const OPERATOR_ROLES = ['VIEWER', 'SUPPORT', 'FINANCE', 'ADMIN'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

export const ANYBODY: readonly OperatorRole[] = [...OPERATOR_ROLES];
export const SUPPORTERS: readonly OperatorRole[] = ['SUPPORT', 'ADMIN'];
export const TREASURERS: readonly OperatorRole[] = ['FINANCE', 'ADMIN'];
export const CLOSERS: readonly OperatorRole[] = ['SUPPORT', 'FINANCE', 'ADMIN'];
export const ADMINS: readonly OperatorRole[] = ['ADMIN'];
