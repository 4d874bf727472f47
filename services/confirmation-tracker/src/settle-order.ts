import { isDeepStrictEqual } from 'node:util';
import type { OrderStatus } from '@opentill/contracts/notify-order';
import type { Chain } from '@opentill/domain/chains';
import { isCredited, arrivedInTime, subtractFromCounted } from '@opentill/domain/collection-sums';
import { GatewayError } from '@opentill/domain/gateway-error';
import { baseUnits, type BaseUnits } from '@opentill/domain/money';
import { isDeepEnough } from '@opentill/domain/confirmations';
import { creditAgain, creditOrder, type LedgerEntry, type Receipt } from '@opentill/domain/ledger';
import {
  decideByOperator,
  LATE_CALLBACK_SECONDS,
  settleCollection,
  type CollectionDecision,
  type CollectionFacts,
  type CollectionState,
  type CollectionStep,
} from '@opentill/domain/settle-collection';
import {
  compareWithOrder,
  settleBooking,
  unmatchedReason,
  type TransferBooking,
  type TransferFit,
  type TransferSettlement,
} from '@opentill/domain/settle-transfer';
import { agreedHeight } from './agreed-height.ts';
import { later, notificationsOf, type NotifyDeps } from './notify-order.ts';
import { createUnmatchedReport, type UnmatchedReport } from './report-unmatched.ts';
import type {
  IncidentRow,
  LockedOrder,
  OrderFacts,
  OrderOutcome,
  SettlementRow,
  TransferRow,
  UnmatchedRow,
} from './store/order-rows.ts';

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
  /** Base units. A smaller transfer is booked, but does not move its order or cause a callback. */
  readonly dustBelow: (chain: Chain, symbol: string) => bigint;
}

interface Judged {
  readonly transfer: TransferRow;
  readonly fit: TransferFit;
  readonly booking: TransferBooking;
  readonly creditReverted: TransferSettlement['creditReverted'];
  readonly creditedAgain: boolean;
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
  const credited = { sum: 0n, newest: undefined as TransferRow | undefined };
  const others: LedgerEntry[] = [];
  const taken: TransferRow[] = [];
  const unmatchedReport = createUnmatchedReport(order, facts, now);
  let newestChangeAt: Date | null = null;

  const credit = (one: Judged): Judged => {
    const { transfer, fit, booking } = one;
    const isOther = transfer.transferId === accepted?.transferId;
    const isOrdered = fit === 'ORDERED' && isCredited(order, credits, toFact(deps, order, facts)(transfer));
    if (!isOther && !isOrdered) return one;
    if (isOther) {
      others.push(creditAgain(receiptOf(order, transfer), transfer.transferId, booking.bookings));
    } else {
      credited.sum += transfer.amount;
    }
    credited.newest = later(credited.newest, transfer);
    return { ...one, booking: { ...booking, credited: true } };
  };

  return {
    isOfEveryTransfer: standingOf(order) !== standingOf(last),
    take(transfers) {
      const entries: LedgerEntry[] = [];
      const settled = transfers.map((transfer) => credit(judge(order, transfer, entries)));
      for (const { settledVersion, version, updatedAt } of transfers) {
        if (settledVersion !== version && (newestChangeAt === null || updatedAt > newestChangeAt))
          newestChangeAt = updatedAt;
      }
      taken.push(...settled.flatMap((one) => takenBack(order, one)));
      return {
        settlements: settled.flatMap((one) => changedSettlement(order, one)),
        unmatched: settled.flatMap((one) => {
          const rows = changedUnmatched(deps, order, last, one);
          for (const row of rows) unmatchedReport.note(one.transfer, row);
          return rows;
        }),
        incidents: settled.flatMap((one) => incidentOf(deps, order, one)),
        creditedAgain: settled
          .filter((one) => one.creditedAgain && one.creditReverted === null)
          .map((one) => ({ transferId: one.transfer.transferId, booking: one.booking.bookings })),
        entries,
      };
    },
    end() {
      const amount = baseUnits(credited.sum);
      if (credits !== null && amount + (accepted?.worth ?? 0n) !== last.actualAmount)
        throw sumsDiffer(order, amount, last);
      const report = unmatchedReport.end(deps, last, credits === null ? facts.newest : credited.newest);
      const shown = {
        credited: credited.newest,
        newest: facts.newest,
        takenBack: taken,
        unmatched: report.data,
      };
      return {
        order,
        moved: movedBy(order, steps, last, now, report),
        isDecided,
        notifications: notificationsOf(deps, order, facts, shown, steps),
        settlements: [],
        unmatched: [],
        reported: report.reported,
        incidents: [],
        creditedAgain: [],
        // One entry for the ordered amount, because an order is credited once, and one for other money that an operator
        // accepted.
        entries: [...(amount > 0n ? [creditOrder(receiptOf(order, { ...order, amount }))] : []), ...others],
        newestChangeAt,
      };
    },
  };
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
  return isAsSeen && isFree ? decision : undefined;
}

/** Steps implied by the facts come before that of the operator. */
function stepsOf(
  deps: SettleOrderDeps,
  order: LockedOrder,
  facts: OrderFacts,
  now: Date,
  decision: CollectionDecision | undefined,
): { readonly steps: readonly CollectionStep[]; readonly isDecided: boolean } {
  const fact = toFact(deps, order, facts);
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
  const isOrdered = compareWithOrder(order, transfer) === 'ORDERED';
  return !isOrdered || transfer.amount < dustBelow(transfer.chain, transfer.symbol);
}

function judge(order: LockedOrder, transfer: TransferRow, entries: LedgerEntry[]): Judged {
  const receipt = receiptOf(order, transfer);
  const fit = compareWithOrder(order, transfer);
  const settlement = settleBooking(
    transfer.transferId,
    receipt,
    { state: transfer.state, fit, accepted: transfer.accepted },
    transfer.booking,
  );
  entries.push(...settlement.entries);
  const { booking, creditReverted, creditedAgain } = settlement;
  return { transfer, fit, booking, creditReverted, creditedAgain };
}

function receiptOf(order: LockedOrder, received: Pick<Receipt, 'chain' | 'symbol' | 'amount'>): Receipt {
  const { chain, symbol, amount } = received;
  return { orderPk: order.orderPk, merchantId: order.merchantId, chain, symbol, amount };
}

function toFact(deps: SettleOrderDeps, order: LockedOrder, facts: OrderFacts) {
  const height = agreedHeight(facts, deps.verifiedDepths.get(order.chain));
  return (transfer: TransferRow) => ({
    ...transfer,
    deepEnough: isDeepEnough(transfer, height, order.confirmationsRequired),
  });
}

function changedSettlement(order: LockedOrder, { transfer, booking }: Judged): SettlementRow[] {
  const row = {
    transferId: transfer.transferId,
    bookedAmount: booking.booked?.amount ?? null,
    bookedSymbol: booking.booked?.symbol ?? null,
    bookings: booking.bookings,
  };
  // The version stays unsettled, so that the sweep settles it for the order that received it.
  if (transfer.wentElsewhere)
    return [{ ...row, settledVersion: transfer.settledVersion ?? 0, orderPk: null, credited: false }];
  const held = transfer.booking;
  const same =
    transfer.settledVersion === transfer.version &&
    held.bookings === booking.bookings &&
    (held.booked === null) === (booking.booked === null) &&
    held.credited === booking.credited;
  if (same) return [];
  return [{ ...row, settledVersion: transfer.version, orderPk: order.orderPk, credited: booking.credited }];
}

function changedUnmatched(
  deps: SettleOrderDeps,
  order: LockedOrder,
  last: CollectionState,
  one: Judged,
): UnmatchedRow[] {
  const { transfer, fit, booking } = one;
  const reason = unmatchedReason(last.status, {
    fit,
    state: transfer.state,
    inTime: arrivedInTime(order, transfer),
    credited: booking.credited,
  });
  const held = transfer.unmatched;
  const dust = transfer.amount < deps.dustBelow(transfer.chain, transfer.symbol);
  const wanted =
    reason === null
      ? held && { ...held, withdrawn: true }
      : { reason, withdrawn: false, dust, reported: held?.reported ?? false };
  if (wanted === null || isDeepStrictEqual(held, wanted)) return [];
  return [{ transferId: transfer.transferId, ...wanted }];
}

function incidentOf(deps: SettleOrderDeps, order: LockedOrder, one: Judged): IncidentRow[] {
  const { transfer, booking, creditReverted, creditedAgain } = one;
  if (creditReverted === null) return [];
  return [
    {
      incidentId: deps.newId(),
      holdId: deps.newId(),
      kind: 'CREDITED_TRANSFER_ORPHANED',
      transferId: transfer.transferId,
      chain: transfer.chain,
      symbol: creditReverted.symbol,
      holdReason: 'a reorganisation orphaned a credited transfer',
      details: {
        orderId: order.orderId,
        merchantId: order.merchantId,
        txHash: transfer.txHash,
        amountBaseUnits: creditReverted.amount.toString(),
        blockHeight: transfer.blockHeight,
        transferState: transfer.state,
        booking: creditReverted.booking,
        ...(creditedAgain && { creditedAgainBooking: booking.bookings }),
      },
    },
  ];
}

/** Has its old contents if the transaction was mined again with others. */
function takenBack(order: LockedOrder, { transfer, fit, creditReverted }: Judged): TransferRow[] {
  if (creditReverted === null) return [];
  const { amount, symbol } = creditReverted;
  const isSame = (fit === 'ORDERED' || transfer.accepted) && transfer.amount === amount;
  if (isSame) return [transfer];
  const { chain, contractAddress } = order;
  const asset =
    transfer.chain === chain && symbol === order.symbol ? { symbol, contractAddress } : { symbol };
  return [{ ...transfer, ...asset, amount, state: 'ORPHANED' }];
}
