import { newEvent } from '@opentill/db/outbox';
import type { Operator } from '@opentill/db/operators';
import { TREASURERS } from '@opentill/contracts/ops/roles';
import { formatAmount, parseAmount } from '@opentill/domain/money';
import { familyOf } from '@opentill/domain/chains';
import type { Handlers } from '../handlers.ts';
import { notFound, refuse } from '../refuse.ts';
import { insertDecision } from '../store/orders.ts';
import { lockName } from '../store/operators.ts';
import { insertAcceptance, readAcceptable, type AcceptableRow } from '../store/unmatched.ts';
import type { OpsDeps } from './ops-deps.ts';

/** Deposits that no order could take by itself, and that an operator takes for theirs. */
export function acceptDepositHandlers({ clock, newId }: OpsDeps): Pick<Handlers, 'acceptDeposit'> {
  return {
    async acceptDeposit({ tx, operator, emit }, { transferId, worth, reason }) {
      const named = await readAcceptable(tx, transferId);
      if (named === undefined) throw notFound(`unmatched deposit ${transferId}`);
      await lockName(tx, `decision of ${named.orderPk}`); // as any decision of an order
      const deposit = await readAcceptable(tx, transferId);
      if (deposit === undefined) throw notFound(`unmatched deposit ${transferId}`);
      const { orderPk, orderId, merchantId, orderDecimals } = deposit;
      const isOrdered = deposit.reason === 'LATE' || deposit.reason === 'UNDERPAID';
      requireAcceptable(deposit);
      const counts = isOrdered ? undefined : worthOf(deposit, worth, operator);
      if (isOrdered && worth !== undefined)
        throw refuse('UNPROCESSABLE', `It is of the order's own token: it counts as what it is.`);
      const decisionId = newId();
      const decided = { decisionId, reason, operator: operator.operatorId, decidedAt: clock.now() };
      if (counts === undefined) await insertDecision(tx, { ...decided, orderPk, decision: 'ACCEPT' });
      else await insertAcceptance(tx, { ...decided, deposit, transferId, worth: counts });
      await emit(newEvent('order.decided', familyOf(deposit.chain), { orderPk }, { newId, clock }));
      const shown = counts === undefined ? null : formatAmount(counts, orderDecimals, 0);
      return {
        answer: { decisionId, orderPk, orderId, merchantId, symbol: deposit.orderSymbol, worth: shown },
        subject: String(transferId),
        details: { orderPk, worth: shown },
      };
    },
  };
}

/** @throws GatewayError STATE_CONFLICT in words that say what to do instead */
function requireAcceptable(deposit: AcceptableRow): void {
  const { state, status, refunded, orderId, isDecided, cutoffAt } = deposit;
  const giveBack = 'give it back (opentill unmatched refund)';
  if (state !== 'VERIFIED')
    throw refuse('STATE_CONFLICT', 'It is not verified yet: try again when its block is.');
  if (status === 'SUCCESS')
    throw refuse(
      'STATE_CONFLICT',
      `Order ${orderId} is paid already, and its shop has been told: to accept more would have it deliver twice. Leave it, it is swept as everything is, or ${giveBack}.`,
    );
  if (status === 'FAILED')
    throw refuse(
      'STATE_CONFLICT',
      `Order ${orderId} FAILED, which is its end: its customer needs a new one; ${giveBack}.`,
    );
  if (status !== 'EXPIRED')
    throw refuse(
      'STATE_CONFLICT',
      `Order ${orderId} is still ${status}, and may be paid: it can be accepted when it has expired, after ${cutoffAt.toISOString()}.`,
    );
  if (refunded > 0n)
    throw refuse(
      'STATE_CONFLICT',
      `${refunded} base units of it were given back, or are about to be: what is left can only be given back as well.`,
    );
  if (isDecided) throw refuse('STATE_CONFLICT', 'A decision of this order is being carried out already.');
}

/** What it counts as in base units of its order's token: nobody knows but who says it. */
function worthOf(
  { reason, symbol, chain, orderSymbol, orderDecimals }: AcceptableRow,
  worth: string | undefined,
  { role }: Operator,
): bigint {
  const what = reason === 'WRONG_CHAIN' ? `${symbol} on ${chain}` : symbol;
  if (worth === undefined)
    throw refuse('UNPROCESSABLE', `It is ${what}: say what it counts as in ${orderSymbol}.`);
  if (!TREASURERS.includes(role))
    throw refuse(
      'FORBIDDEN',
      `Your role ${role} may not say what ${what} counts as; it takes ${TREASURERS.join(' or ')}.`,
    );
  const parsed = parseAmount(worth, orderDecimals);
  if (!parsed.ok)
    throw refuse(
      'UNPROCESSABLE',
      `${worth} is no amount of ${orderSymbol}, which has ${orderDecimals} decimals.`,
    );
  return parsed.value;
}
