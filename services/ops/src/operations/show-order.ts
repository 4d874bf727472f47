import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import { inCoin } from '@opentill/domain/order-shares';
import { orderAmount, time, timeOrNull } from '../format.ts';
import type { decisionsOf, OrderSummaryRow } from '../store/orders.ts';

export function showDecision(row: Awaited<ReturnType<typeof decisionsOf>>[number]): OpsAnswer<'decideOrder'> {
  return { ...row, decidedAt: time(row.decidedAt), handledAt: timeOrNull(row.handledAt) };
}

export function showOrder(row: OrderSummaryRow): OpsAnswer<'listOrders'> {
  return {
    orderPk: row.orderPk,
    merchantId: row.merchantId,
    orderId: row.orderId,
    orderType: row.orderType,
    uid: row.uid,
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
