import { isDeepStrictEqual } from 'node:util';
import {
  notifyUnmatchedText,
  toUnmatchedTransfers,
  UNMATCHED_SHOWN,
  unmatchedTokenOf,
  type OrderTokens,
} from '@opentill/contracts/format-unmatched';
import type { Chain } from '@opentill/domain/chains';
import { arrivedInTime } from '@opentill/domain/collection-sums';
import { LATE_CALLBACK_SECONDS, type CollectionState } from '@opentill/domain/settle-collection';
import { unmatchedReason, type UnmatchedReason } from '@opentill/domain/settle-transfer';
import type { Judged } from './judge-transfer.ts';
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
  /** Unreported transfers of tokens that are no longer configured. They stay unreported. */
  readonly unlisted: readonly TransferRow[];
  /** The list or the time of the next callback has changed. */
  readonly isMoved: boolean;
  readonly times: Required<Pick<MovedOrder, 'unmatchedCallbackAt' | 'unmatchedCallbackDueAt'>>;
}

export interface UnmatchedDeps extends NotifyDeps {
  readonly dustBelow: (chain: Chain, symbol: string) => bigint;
}

interface UnmatchedFacts {
  readonly order: LockedOrder;
  /** After all steps. */
  readonly last: CollectionState;
  readonly facts: OrderFacts;
  readonly now: Date;
}

interface UnmatchedRows {
  /** New and changed rows of a transfer. */
  take(one: Judged): UnmatchedRow[];
  /** Call after all transfers were taken. `paidBy`: the transaction that the callback shows. */
  end(paidBy: TransferRow | undefined): UnmatchedReport;
}

/**
 * The unmatched deposits of an order as the API and ORDER_UNMATCHED list them. A callback is written when one of them
 * is in no earlier callback, at most once a minute. A callback is never empty: a payment in a token that is no longer
 * configured waits until the token is configured again and the order changes.
 */
export function createUnmatchedReport(
  deps: UnmatchedDeps,
  { order, last, facts, now }: UnmatchedFacts,
): UnmatchedRows {
  const shown = new Map<number, ShownTransfer>();
  const unlisted = new Map<number, ShownTransfer>();
  const tokens = tokensOf(order);
  // Only listed ones share the limited places of the list.
  const placeOf = (transfer: TransferRow): Map<number, ShownTransfer> =>
    unmatchedTokenOf(tokens, transfer, tokenOfIn(deps)) === undefined ? unlisted : shown;
  for (const transfer of facts.unmatched) {
    const held = transfer.unmatched;
    if (held !== null) placeOf(transfer).set(transfer.transferId, { transfer, ...held });
  }
  let isChanged = false;

  const note = (transfer: TransferRow, row: UnmatchedRow): void => {
    const wasShown = transfer.unmatched?.dust === false && !transfer.unmatched.withdrawn;
    const isShown = !row.dust && !row.withdrawn;
    isChanged ||= wasShown || isShown;
    const place = placeOf(transfer);
    if (isShown) place.set(transfer.transferId, { transfer, reason: row.reason, reported: row.reported });
    else place.delete(transfer.transferId);
    if (place.size > 2 * UNMATCHED_SHOWN) keepNewest(place);
  };

  return {
    take(one) {
      const rows = changedRows(deps, order, last, one);
      for (const row of rows) note(one.transfer, row);
      return rows;
    },
    end(paidBy) {
      keepNewest(shown);
      keepNewest(unlisted);
      const listed = [...shown.values()];
      const unreportedOf = (some: Iterable<ShownTransfer>): ShownTransfer[] =>
        order.notifyUnmatched ? [...some].filter(({ reported }) => !reported) : [];
      const fresh = unreportedOf(listed);
      const { unmatchedCallbackAt: before } = order;
      const isAllowed = before === null || now >= nextAfter(before);
      const isWritten = fresh.length > 0 && isAllowed;
      const at = isWritten ? now : before;
      const dueAt = fresh.length > 0 && !isWritten && at !== null ? nextAfter(at) : null;
      return {
        data: isWritten ? dataOf(deps, { ...order, ...last }, listed, paidBy) : null,
        reported: isWritten ? fresh.map(toReported) : [],
        unlisted: unreportedOf(unlisted.values()).map(({ transfer }) => transfer),
        isMoved: isChanged || isWritten || (dueAt !== null) !== order.owesUnmatchedCallback,
        times: { unmatchedCallbackAt: at, unmatchedCallbackDueAt: dueAt },
      };
    },
  };
}

/** The row of a transfer if it has changed. */
function changedRows(
  { dustBelow }: UnmatchedDeps,
  order: LockedOrder,
  { status }: CollectionState,
  one: Judged,
): UnmatchedRow[] {
  const { transfer, fit, booking } = one;
  const reason = unmatchedReason(status, {
    fit,
    state: transfer.state,
    inTime: arrivedInTime(order, transfer),
    credited: booking.credited,
  });
  const held = transfer.unmatched;
  const dust = transfer.amount < dustBelow(transfer.chain, transfer.symbol);
  const wanted =
    reason === null
      ? held && { ...held, withdrawn: true }
      : { reason, withdrawn: false, dust, reported: held?.reported ?? false };
  if (wanted === null || isDeepStrictEqual(held, wanted)) return [];
  return [{ transferId: transfer.transferId, ...wanted }];
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
  paidBy: TransferRow | undefined,
): string {
  const transfers = listed.map(({ transfer, reason }) => ({ ...transfer, reason }));
  const unmatched = toUnmatchedTransfers(tokensOf(order), transfers, tokenOfIn(deps));
  return notifyUnmatchedText({ ...viewOf(deps, order, paidBy), unmatched });
}

function tokensOf(order: LockedOrder): OrderTokens {
  return { ...order, options: order.coins };
}

function tokenOfIn({ displayOf }: NotifyDeps) {
  return (chain: Chain, symbol: string) => displayOf(chain).tokenOf(symbol);
}
