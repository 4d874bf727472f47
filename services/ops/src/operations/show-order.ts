import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import { inCoin } from '@opentill/domain/order-shares';
import { orderAmount, time, timeOrNull } from '../format.ts';
import type { decisionsOf, OrderSummaryRow, readOptions } from '../store/orders.ts';

export function showDecision(row: Awaited<ReturnType<typeof decisionsOf>>[number]): OpsAnswer<'decideOrder'> {
  return { ...row, decidedAt: time(row.decidedAt), handledAt: timeOrNull(row.handledAt) };
}

export function showOption(
  order: Pick<OrderSummaryRow, 'chain' | 'symbol' | 'choices'>,
  row: Awaited<ReturnType<typeof readOptions>>[number],
): OpsAnswer<'listOrders'>['options'][number] {
  const { chain, symbol, contractAddress, amount, rate, confirmationsRequired, address, chosenAt } = row;
  return {
    chain,
    symbol,
    contractAddress,
    amount: orderAmount(amount, row),
    rate,
    confirmationsRequired,
    address,
    chosenAt: timeOrNull(chosenAt),
    isCurrent: order.choices !== 0 && chain === order.chain && symbol === order.symbol,
  };
}

export function showOrder(row: OrderSummaryRow): Omit<OpsAnswer<'listOrders'>, 'options'> {
  return {
    orderPk: row.orderPk,
    merchantId: row.merchantId,
    orderId: row.orderId,
    orderType: row.orderType,
    uid: row.uid,
    linkId: row.linkId,
    status: row.status,
    reason: row.reason,
    chain: row.chain,
    symbol: row.symbol,
    contractAddress: row.contractAddress,
    amount: orderAmount(row.amount, row),
    detectedAmount: orderAmount(inCoin(row.detectedAmount, row), row),
    actualAmount: row.actualAmount === null ? null : orderAmount(inCoin(row.actualAmount, row), row),
    address: row.address,
    sourceAddress: row.sourceAddress,
    createdAt: time(row.createdAt),
    expiresAt: time(row.expiresAt),
    updatedAt: time(row.updatedAt),
  };
}
