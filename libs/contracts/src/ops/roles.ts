/**
 * What an operator may do: the roles of each route, which SECURITY.md lists. VIEWER reads. SUPPORT helps shops. FINANCE books
 * top-ups, asks for refunds, hands approvals in, and stops payouts. ADMIN does everything, and is the only role that releases
 * what was stopped.
 */
export const OPERATOR_ROLES = ['VIEWER', 'SUPPORT', 'FINANCE', 'ADMIN'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** Sets of roles that may call a route. */
export const ANYBODY: readonly OperatorRole[] = [...OPERATOR_ROLES];
export const SUPPORTERS: readonly OperatorRole[] = ['SUPPORT', 'ADMIN'];
export const TREASURERS: readonly OperatorRole[] = ['FINANCE', 'ADMIN'];
export const CLOSERS: readonly OperatorRole[] = ['SUPPORT', 'FINANCE', 'ADMIN'];
export const ADMINS: readonly OperatorRole[] = ['ADMIN'];
