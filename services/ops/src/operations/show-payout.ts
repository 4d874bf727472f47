import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import { orderAmount, time, timeOrNull } from '../format.ts';
import type { noncesOf, ownTransactionsOf, PayoutRow } from '../store/payouts.ts';

type Detail = OpsAnswer<'getOrder'>;

export function showPayout(row: PayoutRow): OpsAnswer<'getPayout'> {
  const open = row.state === 'REQUESTED' || row.state === 'AUTHORISED';
  return {
    orderPk: row.orderPk,
    merchantId: row.merchantId,
    orderId: row.orderId,
    chain: row.chain,
    symbol: row.symbol,
    contractAddress: row.contractAddress,
    amount: orderAmount(row.amount, row),
    amountBaseUnits: row.amount.toString(),
    receiver: row.receiver,
    wallet: row.wallet,
    state: row.state,
    orderStatus: row.orderStatus,
    waitingForApproval: open && row.waitingSince !== null,
    waitingSince: timeOrNull(row.waitingSince),
    obstacle: row.obstacle,
    obstacleAt: timeOrNull(row.obstacleAt),
    reason: row.reason,
    createdAt: time(row.createdAt),
    expiresAt: time(row.expiresAt),
    authorisedAt: timeOrNull(row.authorisedAt),
    firstSentAt: timeOrNull(row.firstSentAt),
    approvals: row.approvals.map(({ approver, approvedAt }) => ({
      approver,
      approvedAt: time(new Date(approvedAt)),
    })),
    veto:
      row.vetoOperator === null || row.vetoReason === null || row.vetoedAt === null
        ? null
        : { operator: row.vetoOperator, reason: row.vetoReason, vetoedAt: time(row.vetoedAt) },
  };
}

export function showNonce(row: Awaited<ReturnType<typeof noncesOf>>[number]): Detail['nonces'][number] {
  return { ...row, updatedAt: time(row.updatedAt) };
}

export function showOwnTransaction(
  row: Awaited<ReturnType<typeof ownTransactionsOf>>[number],
): Detail['ownTransactions'][number] {
  return {
    chain: row.chain,
    txHash: row.txHash,
    wallet: row.wallet,
    nonce: row.nonce,
    // The transaction of a gathering belongs to no order.
    purpose: row.purpose === 'CANCEL' ? 'CANCEL' : 'PAYOUT',
    to: row.to,
    amountBaseUnits: row.amount.toString(),
    feeTerms: { ...row.feeTerms },
    signedAt: time(row.signedAt),
    firstSentAt: timeOrNull(row.firstSentAt),
    lastSentAt: timeOrNull(row.lastSentAt),
    sendOutcome: row.sendOutcome,
    attempt:
      row.attemptState === null || row.expiresMs === null
        ? null
        : { state: row.attemptState, expiresAt: time(new Date(row.expiresMs)) },
    fate:
      row.fateState === null
        ? null
        : {
            state: row.fateState,
            succeeded: row.succeeded ?? false,
            deliveredBaseUnits: (row.delivered ?? 0n).toString(),
            networkFeeBaseUnits: (row.networkFee ?? 0n).toString(),
            blockHeight: row.blockHeight,
            blockTime: timeOrNull(row.blockTime),
          },
  };
}
