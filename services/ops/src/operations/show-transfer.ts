import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import type { Assets } from '../assets.ts';
import { time, timeOrNull } from '../format.ts';
import type { TransferRow } from '../store/transfers.ts';

export function showTransfer(assets: Assets, row: TransferRow): OpsAnswer<'listTransfers'> {
  return {
    transferId: row.transferId,
    chain: row.chain,
    txHash: row.txHash,
    position: row.position,
    symbol: row.symbol,
    contractAddress: row.contractAddress,
    from: row.from,
    to: row.to,
    amountBaseUnits: row.amount.toString(),
    amount: assets.display(row.chain, row.symbol, row.amount),
    blockHeight: row.blockHeight,
    blockHash: row.blockHash,
    blockTime: time(row.blockTime),
    state: row.state,
    detectedAt: time(row.detectedAt),
    verifiedAt: timeOrNull(row.verifiedAt),
    orderPk: row.orderPk,
    booked: row.booked ?? false,
    credited: row.credited ?? false,
    unmatchedReason: row.unmatchedReason,
  };
}
