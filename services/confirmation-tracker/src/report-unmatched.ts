import {
  notifyUnmatchedText,
  toUnmatchedTransfers,
  UNMATCHED_SHOWN,
} from '@opentill/contracts/format-unmatched';
import { LATE_CALLBACK_SECONDS, type CollectionState } from '@opentill/domain/settle-collection';
import type { UnmatchedReason } from '@opentill/domain/settle-transfer';
import type { NotifyDeps } from './notify-order.ts';
import type {
  LockedOrder,
  MovedOrder,
  NotificationRow,
  OrderFacts,
  TransferRow,
  UnmatchedRow,
} from './store/order-rows.ts';
import { viewOf } from './view-order.ts';

interface ShownTransfer {
  readonly transfer: TransferRow;
  readonly reason: UnmatchedReason;
  readonly reported: boolean;
}

export interface UnmatchedReport {
  /** Null without a callback. */
  readonly data: NotificationRow['data'] | null;
  /** Transfers that this callback is the first to contain. */
  readonly reported: readonly UnmatchedRow[];
  /** The list or the time of the next callback has changed. */
  readonly isMoved: boolean;
  readonly times: Required<Pick<MovedOrder, 'unmatchedCallbackAt' | 'unmatchedCallbackDueAt'>>;
}

/**
 * The unmatched deposits of an order as the API and ORDER_UNMATCHED list them. A callback is written when one of them
 * is in no earlier callback, at most once a minute.
 */
export function createUnmatchedReport(order: LockedOrder, facts: OrderFacts, now: Date) {
  const shown = new Map<number, ShownTransfer>();
  for (const transfer of facts.unmatched) {
    const held = transfer.unmatched;
    if (held !== null) shown.set(transfer.transferId, { transfer, ...held });
  }
  let isChanged = false;

  return {
    /** A new or changed row of a transfer. */
    note(transfer: TransferRow, row: UnmatchedRow): void {
      const wasShown = transfer.unmatched?.dust === false && !transfer.unmatched.withdrawn;
      const isShown = !row.dust && !row.withdrawn;
      isChanged ||= wasShown || isShown;
      if (isShown) shown.set(transfer.transferId, { transfer, reason: row.reason, reported: row.reported });
      else shown.delete(transfer.transferId);
      if (shown.size > 2 * UNMATCHED_SHOWN) keepNewest(shown);
    },
    end(deps: NotifyDeps, last: CollectionState, paidBy: TransferRow | undefined): UnmatchedReport {
      keepNewest(shown);
      const listed = [...shown.values()];
      const fresh = order.notifyUnmatched ? listed.filter(({ reported }) => !reported) : [];
      const { unmatchedCallbackAt: before } = order;
      const isAllowed = before === null || now >= nextAfter(before);
      const isWritten = fresh.length > 0 && isAllowed;
      const at = isWritten ? now : before;
      const dueAt = fresh.length > 0 && !isWritten && at !== null ? nextAfter(at) : null;
      return {
        data: isWritten ? dataOf(deps, { ...order, ...last }, listed, facts, paidBy) : null,
        reported: isWritten ? fresh.map(toReported) : [],
        isMoved: isChanged || isWritten || (dueAt !== null) !== order.owesUnmatchedCallback,
        times: { unmatchedCallbackAt: at, unmatchedCallbackDueAt: dueAt },
      };
    },
  };
}

function nextAfter(last: Date): Date {
  return new Date(last.getTime() + LATE_CALLBACK_SECONDS * 1_000);
}

function keepNewest(shown: Map<number, ShownTransfer>): void {
  const newestFirst = [...shown].toSorted(([a], [b]) => b - a);
  shown.clear();
  for (const [transferId, one] of newestFirst.slice(0, UNMATCHED_SHOWN)) shown.set(transferId, one);
}

function toReported({ transfer, reason }: ShownTransfer): UnmatchedRow {
  return { transferId: transfer.transferId, reason, withdrawn: false, dust: false, reported: true };
}

function dataOf(
  deps: NotifyDeps,
  order: LockedOrder,
  listed: readonly ShownTransfer[],
  facts: OrderFacts,
  paidBy: TransferRow | undefined,
): string {
  const transfers = listed.map(({ transfer, reason }) => ({ ...transfer, reason }));
  const unmatched = toUnmatchedTransfers(transfers, (chain, symbol) => {
    const isOwn = chain === order.chain && symbol === order.symbol;
    return deps.displayOf(chain).tokenOf(symbol) ?? (isOwn ? order : undefined);
  });
  return notifyUnmatchedText({ ...viewOf(deps, order, paidBy, facts.seenHeight), unmatched });
}
