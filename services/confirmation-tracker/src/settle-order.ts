import type { TokenId } from '@opentill/contracts/format-unmatched';
import type { OrderStatus } from '@opentill/contracts/notify-order';
import type { Chain } from '@opentill/domain/chains';
import { subtractFromCounted } from '@opentill/domain/collection-sums';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { BaseUnits } from '@opentill/domain/money';
import type { LedgerEntry } from '@opentill/domain/ledger';
import {
  decideByOperator,
  LATE_CALLBACK_SECONDS,
  settleCollection,
  type CollectionDecision,
  type CollectionFacts,
  type CollectionState,
  type CollectionStep,
} from '@opentill/domain/settle-collection';
import { sharesOf } from '@opentill/domain/order-shares';
import { compareWithOrder } from '@opentill/domain/settle-transfer';
import { creditTransfers } from './credit-transfers.ts';
import { notificationsOf, type NotifyDeps } from './notify-order.ts';
import { toFact } from './order-coins.ts';
import { changedSettlement, incidentOf, judge, takenBack, type Judged } from './judge-transfer.ts';
import { createUnmatchedReport, type UnmatchedReport } from './report-unmatched.ts';
import type { LockedOrder, OrderFacts, OrderOutcome, TransferRow } from './store/order-rows.ts';

/** `otherMoney`: a transfer that the order did not ask for, as the operator saw it. */
export interface OperatorDecision extends Omit<CollectionDecision, 'otherMoney'> {
  readonly otherMoney?: {
    readonly transferId: number;
    readonly symbol: string;
    readonly amount: bigint;
    readonly worth: BaseUnits;
  };
}

export interface SettleOrderDeps extends NotifyDeps {
  readonly verifiedDepths: ReadonlyMap<Chain, number>;
  /** The configured ones. */
  readonly tokens: readonly TokenId[];
  /** Base units. A smaller transfer is booked, but does not move its order or cause a callback. */
  readonly dustBelow: (chain: Chain, symbol: string) => bigint;
}

export type TransferOutcome = Pick<
  OrderOutcome,
  'settlements' | 'unmatched' | 'incidents' | 'creditedAgain' | 'entries'
>;

/** Decided on creation, then applied to the order's transfers, starting with the named ones. */
export interface OrderSettlement {
  /** The order expires, ends or is paid after expiry. All its transfers must then be passed to `take`. */
  readonly isOfEveryTransfer: boolean;
  take(transfers: readonly TransferRow[]): TransferOutcome;
  /**
   * Call after all transfers were taken.
   * @throws GatewayError COLLECTION_SUMS_DIFFER if the credited amount differs from the stored sums. No amount is
   * credited.
   */
  end(): OrderOutcome;
}

/** Pure except for new ids. Idempotent: without changes every list is empty. */
export function settleOrder(
  deps: SettleOrderDeps,
  order: LockedOrder,
  facts: OrderFacts,
  now: Date,
  decision?: OperatorDecision,
): OrderSettlement {
  const possible = possibleOf(order, decision, facts.transfers);
  const { steps, isDecided } = stepsOf(deps, order, facts, now, possible);
  const last = steps.at(-1)?.next ?? order;
  const credits = steps.at(-1)?.credits ?? null;
  const accepted = credits === 'ACCEPTED' ? possible?.otherMoney : undefined;
  const credited = creditTransfers(deps, order, { credits, accepted });
  const taken: TransferRow[] = [];
  const unmatchedReport = createUnmatchedReport(deps, { order, last, facts, now });
  let newestChangeAt: Date | null = null;

  return {
    isOfEveryTransfer: standingOf(order) !== standingOf(last),
    take(transfers) {
      const entries: LedgerEntry[] = [];
      const settled = transfers.map((transfer) => credited.take(judge(order, transfer, entries)));
      newestChangeAt = newestChange(transfers, newestChangeAt);
      taken.push(...settled.flatMap((one) => takenBack(order, one)));
      return {
        settlements: settled.flatMap((one) => changedSettlement(order, one)),
        unmatched: settled.flatMap((one) => unmatchedReport.take(one)),
        incidents: settled.flatMap((one) => incidentOf(deps, order, one)),
        creditedAgain: settled.flatMap(creditedAgainOf),
        entries,
      };
    },
    end() {
      const { worth, newest, entries } = credited.end();
      if (credits !== null && worth !== last.actualAmount) throw sumsDiffer(order, worth, last);
      const report = unmatchedReport.end(credits === null ? facts.newest : newest);
      const shown = { credited: newest, newest: facts.newest, takenBack: taken };
      return {
        order,
        moved: movedBy(order, steps, last, now, report),
        isDecided,
        notifications: notificationsOf(deps, order, facts, { ...shown, unmatched: report.data }, steps),
        ...NO_ROWS,
        reported: report.reported,
        unlisted: report.unlisted,
        entries,
        newestChangeAt,
      };
    },
  };
}

const NO_ROWS = { settlements: [], unmatched: [], incidents: [], creditedAgain: [] } as const;

function newestChange(transfers: readonly TransferRow[], before: Date | null): Date | null {
  let newest = before;
  for (const { settledVersion, version, updatedAt } of transfers) {
    if (settledVersion !== version && (newest === null || updatedAt > newest)) newest = updatedAt;
  }
  return newest;
}

function creditedAgainOf({ transfer, booking, creditReverted, creditedAgain }: Judged) {
  if (!creditedAgain || creditReverted !== null) return [];
  return [{ transferId: transfer.transferId, booking: booking.bookings }];
}

/** The result of an order's transfers depends only on this part of it (unmatchedReason). */
function standingOf({ status }: Pick<CollectionState, 'status'>): 'OPEN' | OrderStatus {
  return status === 'EXPIRED' || status === 'SUCCESS' || status === 'FAILED' ? status : 'OPEN';
}

function sumsDiffer(order: LockedOrder, credited: bigint, { actualAmount }: CollectionState): GatewayError {
  return new GatewayError(
    'COLLECTION_SUMS_DIFFER',
    `order ${order.orderPk}: its transfers sum to ${credited}, its stored sums to ${actualAmount}; no amount was credited. ` +
      `Run "select recount_collection('${order.orderPk}')" as the database owner and report this error`,
    { retryable: false, context: { orderPk: order.orderPk } },
  );
}

function movedBy(
  order: LockedOrder,
  steps: readonly CollectionStep[],
  last: CollectionState,
  now: Date,
  { isMoved, times }: UnmatchedReport,
): OrderOutcome['moved'] {
  if (steps.length === 0 && !isMoved) return null;
  const reported = steps.some((step) => step.event === 'amountChanged' && step.notify === 'ORDER_EXPIRED');
  const at = reported ? now : order.lateCallbackAt;
  const owed = last.owesLateCallback === true && at !== null;
  return {
    status: last.status,
    reason: last.reason,
    detectedAmount: last.detectedAmount,
    actualAmount: last.actualAmount,
    steps: steps.length,
    lateCallbackAt: at,
    lateCallbackDueAt: owed ? lateCallbackFrom(at) : null,
    ...times,
  };
}

function lateCallbackFrom(last: Date): Date {
  return new Date(last.getTime() + LATE_CALLBACK_SECONDS * 1_000);
}

/** Drops a decision whose transfer was credited, refunded or changed since the operator saw it. */
function possibleOf(
  order: LockedOrder,
  decision: OperatorDecision | undefined,
  named: readonly TransferRow[],
): OperatorDecision | undefined {
  if (decision?.otherMoney === undefined) return decision;
  const { transferId, symbol, amount } = decision.otherMoney;
  const found = named.find((transfer) => transfer.transferId === transferId);
  if (found === undefined) return undefined;
  const { fit, booking, transfer } = judge(order, found, []);
  const isAsSeen = transfer.symbol === symbol && transfer.amount === amount && transfer.state === 'VERIFIED';
  const isFree = fit !== 'ORDERED' && !booking.credited && !transfer.refunded;
  if (!isAsSeen || !isFree) return undefined;
  const { worth } = decision.otherMoney;
  if (order.choices === null) return decision;
  // The operator set it in the order's current coin.
  return { ...decision, otherMoney: { ...decision.otherMoney, worth: sharesOf(worth, order.amount) } };
}

/** Steps implied by the facts come before that of the operator. */
function stepsOf(
  deps: SettleOrderDeps,
  order: LockedOrder,
  facts: OrderFacts,
  now: Date,
  decision: CollectionDecision | undefined,
): { readonly steps: readonly CollectionStep[]; readonly isDecided: boolean } {
  const fact = (transfer: TransferRow) => toFact(deps, order, transfer);
  const known: CollectionFacts = {
    sums: subtractFromCounted(order, facts.counted, facts.elsewhere.map(fact), facts.refunded.map(fact)),
    verifiedTimeSeconds: facts.verifiedTimeSeconds,
    lateCallbackAllowed: order.lateCallbackAt === null || now >= lateCallbackFrom(order.lateCallbackAt),
  };
  const byDustOnly =
    decision === undefined &&
    facts.transfers.length > 0 &&
    facts.transfers.every((transfer) => isDust(deps, order, transfer));
  const steps = settleCollection(order, order, known, { byDustOnly });
  const decided = decision && decideByOperator(steps.at(-1)?.next ?? order, known, decision);
  return decided === undefined
    ? { steps, isDecided: false }
    : { steps: [...steps, decided], isDecided: true };
}

/** Too small, or not what the order asks for. */
function isDust({ dustBelow }: SettleOrderDeps, order: LockedOrder, transfer: TransferRow): boolean {
  if (transfer.wentElsewhere) return false;
  const isOrdered = compareWithOrder(order.coins, transfer) === 'ORDERED';
  return !isOrdered || transfer.amount < dustBelow(transfer.chain, transfer.symbol);
}
