import { newEvent } from '@opentill/db/outbox';
import type { Operator } from '@opentill/db/operators';
import { FINANCE_ROLES } from '@opentill/contracts/ops/roles';
import { formatAmount, parseAmount } from '@opentill/domain/money';
import { familyOf } from '@opentill/domain/chains';
import type { Handlers } from '../handlers.ts';
import { notFound, opsError } from '../ops-error.ts';
import { insertDecision } from '../store/orders.ts';
import { lockName } from '../store/operators.ts';
import { insertAcceptance, readAcceptable, type AcceptableRow } from '../store/unmatched.ts';
import type { OpsDeps } from './ops-deps.ts';

/** Assigns deposits that no order could take automatically to the order of their address. */
export function acceptDepositHandlers({ clock, newId }: OpsDeps): Pick<Handlers, 'acceptDeposit'> {
  return {
    async acceptDeposit({ tx, operator, emit }, { transferId, worth, reason }) {
      const named = await readAcceptable(tx, transferId);
      if (named === undefined) throw notFound(`unmatched deposit ${transferId}`);
      await lockName(tx, `decision of ${named.orderPk}`); // the lock of every decision of an order
      const deposit = await readAcceptable(tx, transferId);
      if (deposit === undefined) throw notFound(`unmatched deposit ${transferId}`);
      const { orderPk, orderId, merchantId, orderDecimals } = deposit;
      const isOrdered = deposit.reason === 'LATE' || deposit.reason === 'UNDERPAID';
      requireAcceptable(deposit);
      const counts = isOrdered ? undefined : parseWorth(deposit, worth, operator);
      if (isOrdered && worth !== undefined)
        throw opsError(
          'UNPROCESSABLE',
          `The deposit is in the order's own token: leave out worth, its amount counts.`,
        );
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

/** @throws GatewayError STATE_CONFLICT with the alternative */
function requireAcceptable(deposit: AcceptableRow): void {
  const { state, status, refunded, orderId, isDecided, cutoffAt } = deposit;
  const refundIt = 'refund it (opentill unmatched refund)';
  if (state !== 'VERIFIED')
    throw opsError(
      'STATE_CONFLICT',
      'The deposit is not verified yet. Try again when its block is verified.',
    );
  if (status === 'SUCCESS')
    throw opsError(
      'STATE_CONFLICT',
      `Order ${orderId} is already paid and its shop was notified: accepting more would make it deliver twice. Leave the deposit, which is swept like any other, or ${refundIt}.`,
    );
  if (status === 'FAILED')
    throw opsError(
      'STATE_CONFLICT',
      `Order ${orderId} is FAILED, which is final: its customer needs a new order; ${refundIt}.`,
    );
  if (status !== 'EXPIRED')
    throw opsError(
      'STATE_CONFLICT',
      `Order ${orderId} is still ${status}, and may still be paid: accept the deposit when the order has expired, after ${cutoffAt.toISOString()}.`,
    );
  if (refunded > 0n)
    throw opsError(
      'STATE_CONFLICT',
      `${refunded} base units of it were refunded, or will be: the rest can only be refunded, too.`,
    );
  if (isDecided)
    throw opsError('STATE_CONFLICT', 'A decision about this order is already being carried out.');
}

/** Returns base units of the order's token. Only an operator can know the worth. */
function parseWorth(
  { reason, symbol, chain, orderSymbol, orderDecimals }: AcceptableRow,
  worth: string | undefined,
  { role }: Operator,
): bigint {
  const what = reason === 'WRONG_CHAIN' ? `${symbol} on ${chain}` : symbol;
  if (worth === undefined)
    throw opsError('UNPROCESSABLE', `The deposit is ${what}: give its worth in ${orderSymbol}.`);
  if (!FINANCE_ROLES.includes(role))
    throw opsError(
      'FORBIDDEN',
      `Your role ${role} may not set the worth of ${what}; ${FINANCE_ROLES.join(' or ')} may.`,
    );
  const parsed = parseAmount(worth, orderDecimals);
  if (!parsed.ok)
    throw opsError(
      'UNPROCESSABLE',
      `${worth} is not an amount of ${orderSymbol}, which has ${orderDecimals} decimals.`,
    );
  return parsed.value;
}
