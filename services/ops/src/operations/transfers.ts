import type { Handlers } from '../handlers.ts';
import { keyAfter, PAGE_SIZE, pageOf } from '../page.ts';
import { time } from '../format.ts';
import { findTransfers, findUnmatched } from '../store/transfers.ts';
import type { OpsDeps } from './ops-deps.ts';
import { showTransfer } from './show-transfer.ts';

export function transferHandlers({
  db,
  assets,
}: OpsDeps): Pick<Handlers, 'listTransfers' | 'listUnmatchedDeposits'> {
  return {
    async listTransfers({ limit = PAGE_SIZE, cursor, ...filter }) {
      const rows = await findTransfers(db, filter, keyAfter(cursor, 'number'), limit + 1);
      return pageOf(
        rows,
        limit,
        (row) => row.transferId,
        (row) => showTransfer(assets, row),
      );
    },
    async listUnmatchedDeposits({ limit = PAGE_SIZE, cursor, ...filter }) {
      const rows = await findUnmatched(db, filter, keyAfter(cursor, 'number'), limit + 1);
      return pageOf(
        rows,
        limit,
        (row) => row.transferId,
        ({ merchantId, unmatchedOrderPk, orderId, orderStatus, createdAt, refunded, ...transfer }) => ({
          reason: transfer.unmatchedReason ?? 'LATE',
          merchantId: merchantId ?? '',
          orderPk: unmatchedOrderPk ?? '',
          orderId,
          orderStatus,
          createdAt: time(createdAt ?? new Date(0)),
          transfer: showTransfer(assets, transfer),
          leftBaseUnits: (transfer.amount - refunded).toString(),
          left: assets.display(transfer.chain, transfer.symbol, transfer.amount - refunded),
        }),
      );
    },
  };
}
