import { newEvent } from '@opentill/db/outbox';
import type { Handlers } from '../handlers.ts';
import { keyAfter, PAGE_SIZE, pageOf } from '../page.ts';
import { notFound, opsError } from '../ops-error.ts';
import {
  decisionsOf,
  findOrders,
  insertDecision,
  readOptions,
  readOrderForDecision,
  type OrderSummaryRow,
} from '../store/orders.ts';
import { lockName } from '../store/operators.ts';
import { describeOrder } from './describe-order.ts';
import type { OpsDeps } from './ops-deps.ts';
import { showDecision, showOption, showOrder } from './show-order.ts';

export function orderHandlers(deps: OpsDeps): Pick<Handlers, 'listOrders' | 'getOrder' | 'decideOrder'> {
  const { db, clock, newId } = deps;
  return {
    async listOrders({ limit = PAGE_SIZE, cursor, ...filter }) {
      const rows = await findOrders(db, filter, keyAfter(cursor, 'uuid'), limit + 1);
      const withOptions = rows.filter(({ choices }) => choices !== null).map(({ orderPk }) => orderPk);
      const options = Map.groupBy(await readOptions(db, withOptions), ({ orderPk }) => orderPk);
      const show = (row: OrderSummaryRow) => ({
        ...showOrder(row),
        options: (options.get(row.orderPk) ?? []).map((option) => showOption(row, option)),
      });
      return pageOf(rows, limit, (row) => row.orderPk, show);
    },
    getOrder: ({ orderPk }) => describeOrder(deps, orderPk),
    async decideOrder({ tx, operator, emit }, { orderPk, decision, reason }) {
      await lockName(tx, `decision of ${orderPk}`); // otherwise two concurrent decisions would both find none waiting
      const order = await readOrderForDecision(tx, orderPk);
      if (order === undefined) throw notFound(`order ${orderPk}`);
      requireDecidable(order, decision);
      const waiting = (await decisionsOf(tx, orderPk)).some(({ handledAt }) => handledAt === null);
      if (waiting)
        throw opsError('STATE_CONFLICT', 'A decision about this order is already being carried out.');
      const decided = await insertDecision(tx, {
        decisionId: newId(),
        orderPk,
        decision,
        reason,
        operator: operator.operatorId,
        decidedAt: clock.now(),
      });
      await emit(newEvent('order.decided', order.family, { orderPk }, { newId, clock }));
      return { answer: showDecision(decided), details: { statusBefore: order.status } };
    },
  };
}

function requireDecidable(
  { orderType, status }: { readonly orderType: string; readonly status: string },
  decision: 'ACCEPT' | 'REFUSE',
): void {
  if (orderType === 'PAYOUT') throw opsError('STATE_CONFLICT', 'This is a payout: veto it, or approve it.');
  if (decision === 'ACCEPT' && status !== 'EXPIRED') {
    throw opsError('STATE_CONFLICT', `Only an EXPIRED order can be accepted; this one is ${status}.`);
  }
  if (decision === 'REFUSE' && (status === 'SUCCESS' || status === 'FAILED')) {
    throw opsError('STATE_CONFLICT', `This order is ${status} and cannot be refused.`);
  }
}
