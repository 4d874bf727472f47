import type { OpsOperation } from '@opentill/contracts/ops/catalog';
import { OPS_ERRORS } from '@opentill/contracts/ops/errors';
import type { OpsRoute } from '@opentill/contracts/ops/route';
import type { Database, Tx } from '@opentill/db/database';
import { lockOperator, writeAudit, type Operator } from '@opentill/db/operators';
import { appendToOutbox, type OutboxEvent } from '@opentill/db/outbox';
import { redact } from '@opentill/runtime/redact';
import type { OrderSpan } from '@opentill/runtime/tracing';
import { toErrorBody } from './response.ts';
import type { Authenticate } from './authenticate.ts';
import type { Exchange } from './exchange.ts';
import type { Act, Done } from './handlers.ts';
import type { Observe } from './observe.ts';
import { opsError } from './ops-error.ts';
import { startActSpan } from './store/act-span.ts';

export interface PerformDeps {
  readonly database: Pick<Database, 'kysely'>;
  readonly authenticate: Authenticate;
  readonly observe: Observe;
  readonly wakeRelay: () => void;
}

export interface RequestedOperation {
  readonly id: OpsOperation;
  readonly route: OpsRoute;
  readonly input: Readonly<Record<string, unknown>>;
}

export type Work = (act: Act) => Promise<Done<unknown>>;

export interface Perform {
  requireRole(operator: Operator, route: OpsRoute): Promise<void>;
  /** One transaction of act, events and audit entry. @throws the error that rejects it, without a change */
  act(exchange: Exchange, operator: Operator, requested: RequestedOperation, work: Work): Promise<unknown>;
  /** Writes an audit entry for a rejected act. Ignores other errors (5xx, 429, unauthenticated). */
  auditRefusal(
    exchange: Exchange,
    requested: Omit<RequestedOperation, 'input'> & { readonly input?: RequestedOperation['input'] },
    error: unknown,
  ): Promise<void>;
}

export function createPerform(deps: PerformDeps): Perform {
  const { database, authenticate, observe } = deps;

  function checkRole(operator: Operator, route: OpsRoute): void {
    if (route.roles.includes(operator.role)) return;
    throw opsError(
      'FORBIDDEN',
      `Your role ${operator.role} may not do this; ${route.roles.join(' or ')} may.`,
    );
  }

  async function inTransaction(
    tx: Tx,
    exchange: Exchange,
    operatorId: string,
    { id, route, input }: RequestedOperation,
    work: Work,
  ): Promise<{ readonly answer: unknown; readonly committed: () => boolean }> {
    const operator = await lockOperator(tx, operatorId);
    if (operator === undefined || operator.disabledAt !== null) {
      throw opsError('UNAUTHENTICATED', 'The operator of this token is disabled.');
    }
    checkRole(operator, route);
    const events = createEmitter(tx, id, operatorId);
    const done = await work({ tx, operator, emit: events.emit });
    await writeAudit(tx, {
      operator: operatorId,
      action: id,
      subject: done.subject ?? subjectOf(route, input),
      outcome: 'DONE',
      details: redact({ ...input, ...done.details }) as Record<string, unknown>,
      requestId: exchange.requestId,
    });
    return { answer: done.answer, committed: events.committed };
  }

  return {
    async requireRole(operator, route) {
      if (route.roles.includes(operator.role)) return;
      await authenticate.countForbidden(operator.operatorId);
      checkRole(operator, route);
    },
    async act(exchange, operator, requested, work) {
      const { answer, committed } = await database.kysely
        .transaction()
        .execute((tx) => inTransaction(tx, exchange, operator.operatorId, requested, work));
      observe.acted(requested.id, 'DONE');
      if (committed()) deps.wakeRelay();
      return answer;
    },
    async auditRefusal(exchange, { id, route, input }, error) {
      const { code, message } = toErrorBody(error);
      const status = OPS_ERRORS[code];
      if (exchange.operator === undefined || status >= 500 || status === 429) return;
      await writeAudit(database.kysely, {
        operator: exchange.operator.operatorId,
        action: id,
        subject: input === undefined ? null : subjectOf(route, input),
        outcome: 'REFUSED',
        details: redact({ ...input, refused: code, why: message }) as Record<string, unknown>,
        requestId: exchange.requestId,
      });
      observe.acted(id, 'REFUSED');
    },
  };
}

/** Each event continues the trace of its order, in a span of the act. */
function createEmitter(tx: Tx, operation: OpsOperation, operatorId: string) {
  const spans: (OrderSpan | undefined)[] = [];
  return {
    async emit(event: OutboxEvent): Promise<void> {
      const span = await startActSpan(tx, operation, operatorId, event);
      spans.push(span);
      await appendToOutbox(tx, 'ops', [{ ...event, traceparent: span?.traceparent }]);
    },
    /** Call it after the commit. Returns whether there are events. */
    committed(): boolean {
      for (const span of spans) span?.end();
      return spans.length > 0;
    },
  };
}

/** First parameter of the path, or first member of the body. */
function subjectOf(route: OpsRoute, input: RequestedOperation['input']): string | null {
  const [name] = Object.keys(route.params['properties'] as object);
  const named = name === undefined ? Object.values(input)[0] : input[name];
  return typeof named === 'string' || typeof named === 'number' ? String(named) : null;
}
