import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import type { Tx } from '@opentill/db/database';
import { addOperator, hashOperatorToken, newOperatorToken, type Operator } from '@opentill/db/operators';
import type { Handlers } from '../handlers.ts';
import { keyAfter, PAGE_SIZE, pageOf } from '../page.ts';
import { notFound, opsError } from '../ops-error.ts';
import { time, timeOrNull } from '../format.ts';
import { findAudit, findOperators, lockForChange, updateOperator } from '../store/operators.ts';
import type { OpsDeps } from './ops-deps.ts';

type OperatorOperation =
  | 'getMe'
  | 'rotateMyToken'
  | 'listOperators'
  | 'createOperator'
  | 'setOperator'
  | 'rotateOperatorToken'
  | 'listAudit';

/**
 * An administrator who changes another is locked until the end of the transaction, so one administrator always remains,
 * even if two remove each other at the same time.
 */
export function operatorHandlers({ db, clock }: OpsDeps): Pick<Handlers, OperatorOperation> {
  return {
    getMe: async (_input, operator) => showOperator(operator),
    rotateMyToken: async ({ tx, operator }) => ({
      answer: await renewToken(tx, operator.operatorId),
      subject: operator.operatorId,
    }),
    async listOperators({ limit = PAGE_SIZE, cursor }) {
      const rows = await findOperators(db, keyAfter(cursor, 'name'), limit + 1);
      return pageOf(rows, limit, (row) => row.operatorId, showOperator);
    },
    async createOperator({ tx }, { operatorId, name, role }) {
      const token = await addOperator(tx, { operatorId, name, role });
      if (token === undefined) throw opsError('EXISTS', `Operator ${operatorId} already exists.`);
      const operator = { operatorId, name, role, createdAt: clock.now(), disabledAt: null };
      return { answer: { operator: showOperator(operator), token } };
    },
    async setOperator({ tx, operator: actor }, { operatorId, name, role, disabled }) {
      if (name === undefined && role === undefined && disabled === undefined) {
        throw opsError('INPUT_INVALID', 'Give at least one of name, role and disabled.');
      }
      const before = await required(tx, operatorId);
      const changesPower = (role !== undefined && role !== before.role) || (disabled ?? false);
      if (operatorId === actor.operatorId && changesPower) {
        throw opsError('OWN_ROLE', 'Another administrator must change your role, or disable you.');
      }
      const disabledAt =
        disabled === undefined ? undefined : disabled ? (before.disabledAt ?? clock.now()) : null;
      const after = await updateOperator(tx, operatorId, {
        ...(name !== undefined && { name }),
        ...(role !== undefined && { role }),
        ...(disabledAt !== undefined && { disabledAt }),
      });
      return { answer: showOperator(after), details: { roleBefore: before.role } };
    },
    async rotateOperatorToken({ tx }, { operatorId }) {
      await required(tx, operatorId);
      return { answer: await renewToken(tx, operatorId) };
    },
    async listAudit({ limit = PAGE_SIZE, cursor, ...filter }) {
      const rows = await findAudit(db, filter, keyAfter(cursor, 'number'), limit + 1);
      return pageOf(
        rows,
        limit,
        (row) => row.entryId,
        (row) => ({ ...row, at: time(row.at) }),
      );
    },
  };
}

async function required(tx: Tx, operatorId: string): Promise<Operator> {
  const operator = await lockForChange(tx, operatorId);
  if (operator === undefined) throw notFound(`operator ${operatorId}`);
  return operator;
}

async function renewToken(tx: Tx, operatorId: string): Promise<OpsAnswer<'rotateMyToken'>> {
  const token = newOperatorToken(operatorId);
  const operator = await updateOperator(tx, operatorId, { tokenHash: hashOperatorToken(token) });
  return { operator: showOperator(operator), token };
}

function showOperator({ operatorId, name, role, createdAt, disabledAt }: Operator): OpsAnswer<'getMe'> {
  return { operatorId, name, role, createdAt: time(createdAt), disabledAt: timeOrNull(disabledAt) };
}
