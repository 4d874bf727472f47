/**
 * What an operator may do. VIEWER reads. SUPPORT also helps shops: replays callbacks, accepts and refuses orders, closes
 * their incidents, has blocks read again. FINANCE also watches money: approves and vetoes payouts, closes incidents, holds,
 * halts, exports. ADMIN does everything, merchants and operators included.
 */
export const OPERATOR_ROLES = ['VIEWER', 'SUPPORT', 'FINANCE', 'ADMIN'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** Sets of roles that may call a route. */
export const ANYBODY: readonly OperatorRole[] = OPERATOR_ROLES;
export const SUPPORTERS: readonly OperatorRole[] = ['SUPPORT', 'ADMIN'];
export const TREASURERS: readonly OperatorRole[] = ['FINANCE', 'ADMIN'];
export const CLOSERS: readonly OperatorRole[] = ['SUPPORT', 'FINANCE', 'ADMIN'];
export const ADMINS: readonly OperatorRole[] = ['ADMIN'];
