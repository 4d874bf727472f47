import { notifyOrderText } from '@opentill/contracts/format-order';
import type { NotifyType } from '@opentill/contracts/notify-order';
import type { Chain } from '@opentill/domain/chains';
import { baseUnits, type BaseUnits } from '@opentill/domain/money';
import { isDeepEnough } from '@opentill/domain/confirmations';
import { creditAgain, creditOrder, type LedgerEntry, type Receipt } from '@opentill/domain/ledger';
import {
  COLLECTION_REASONS,
  decideByOperator,
  isInTime,
  settleCollection,
  type CollectionDecision,
  type CollectionFacts,
  type CollectionState,
  type CollectionStep,
} from '@opentill/domain/settle-collection';
import {
  fitOf,
  settleBooking,
  unmatchedReason,
  type TransferBooking,
  type TransferFit,
  type TransferSettlement,
} from '@opentill/domain/settle-transfer';
import { agreedHeight } from './agreed-height.ts';
import type { ChainDisplay } from './display-forms.ts';
import type {
  IncidentRow,
  LockedOrder,
  NotificationRow,
  OrderFacts,
  OrderOutcome,
  SettlementRow,
  TransferRow,
  UnmatchedRow,
} from './order-rows.ts';
import { viewOf } from './view-order.ts';

/** What an operator decided; of an acceptance with money that the order did not ask for that too, as he saw it. */
export interface OperatorDecision extends Omit<CollectionDecision, 'otherMoney'> {
  readonly otherMoney?: {
    readonly transferId: number;
    readonly symbol: string;
    readonly amount: bigint;
    readonly worth: BaseUnits;
  };
}

export interface SettleOrderDeps {
  readonly newId: () => string;
  readonly displayOf: (chain: Chain) => ChainDisplay;
  /** See verifiedDepths. */
  readonly verifiedDepths: ReadonlyMap<Chain, number>;
}

/** A transfer with what this settlement makes of it. */
interface Judged {
  readonly transfer: TransferRow;
  readonly fit: TransferFit;
  readonly booking: TransferBooking;
  readonly creditReverted: TransferSettlement['creditReverted'];
  readonly creditedAgain: boolean;
}

/**
 * What the facts make of one order, and an operator's decision if there is one: its moves and their callbacks, the ledger,
 * unmatched deposits, incidents. Pure but for new ids. With nothing to do every list is empty, so it may be asked any number
 * of times.
 */
export function settleOrder(
  deps: SettleOrderDeps,
  order: LockedOrder,
  facts: OrderFacts,
  decision?: OperatorDecision,
): OrderOutcome {
  const entries: LedgerEntry[] = [];
  const judged = facts.transfers.map((transfer) => judge(order, transfer, entries));
  const { steps, isDecided } = stepsOf(order, possibleOf(decision, judged), {
    verifiedTimeSeconds: facts.verifiedTimeSeconds,
    transfers: judged
      .filter(({ fit }) => fit === 'ORDERED')
      .map(({ transfer }) => toFact(deps, order, transfer, facts)),
  });
  const credited = new Set(steps.flatMap((step) => step.creditedTransferIds));
  const last = steps.at(-1)?.next ?? order;
  entries.push(
    ...creditsOf(
      order,
      judged.filter(({ transfer }) => credited.has(transfer.transferId)),
    ),
  );
  const settled = judged.map((one) =>
    credited.has(one.transfer.transferId) ? { ...one, booking: { ...one.booking, credited: true } } : one,
  );
  const changed = facts.transfers.filter((t) => t.settledVersion !== t.version);
  return {
    order,
    moved: steps.length === 0 ? null : { ...last, steps: steps.length },
    isDecided,
    notifications: notificationsOf(deps, order, facts, settled, steps),
    settlements: settled.flatMap((one) => changedSettlement(order, one)),
    unmatched: settled.flatMap((one) => changedUnmatched(order, last, one)),
    incidents: settled.flatMap((one) => incidentOf(deps, order, one)),
    creditedAgain: settled
      .filter((one) => one.creditedAgain && one.creditReverted === null)
      .map((one) => ({ transferId: one.transfer.transferId, booking: one.booking.bookings })),
    entries,
    newestChangeAt: changed.reduce<Date | null>(
      (newest, t) => (newest === null || t.updatedAt > newest ? t.updatedAt : newest),
      null,
    ),
  };
}

/** Without what can't be carried out: the money that it is about was credited or given back, or is not what the operator saw. */
function possibleOf(
  decision: OperatorDecision | undefined,
  judged: readonly Judged[],
): CollectionDecision | undefined {
  if (decision?.otherMoney === undefined) return decision as CollectionDecision | undefined;
  const { transferId, symbol, amount } = decision.otherMoney;
  const found = judged.find(({ transfer }) => transfer.transferId === transferId);
  if (found === undefined) return undefined;
  const { transfer, fit, booking } = found;
  const isAsSeen = transfer.symbol === symbol && transfer.amount === amount && transfer.state === 'VERIFIED';
  const isFree = fit !== 'ORDERED' && !booking.credited && !transfer.refunded;
  return isAsSeen && isFree ? decision : undefined;
}

/** One entry for all that was ordered, as the order is credited once; and one for what an operator took besides. */
function creditsOf(order: LockedOrder, credited: readonly Judged[]): readonly LedgerEntry[] {
  const ordered = credited.filter(({ fit }) => fit === 'ORDERED');
  const amount = baseUnits(ordered.reduce((sum, { transfer }) => sum + transfer.amount, 0n));
  const others = credited.filter(({ fit }) => fit !== 'ORDERED');
  return [
    ...(amount > 0n ? [creditOrder(receiptOf(order, { ...order, amount }))] : []),
    ...others.map(({ transfer, booking }) =>
      creditAgain(receiptOf(order, transfer), transfer.transferId, booking.bookings),
    ),
  ];
}

/** What the facts ask for by themselves, then what an operator does. */
function stepsOf(
  order: LockedOrder,
  decision: CollectionDecision | undefined,
  facts: CollectionFacts,
): { readonly steps: readonly CollectionStep[]; readonly isDecided: boolean } {
  const steps = settleCollection(order, order, facts);
  const decided = decision && decideByOperator(order, steps.at(-1)?.next ?? order, facts, decision);
  return decided === undefined
    ? { steps, isDecided: false }
    : { steps: [...steps, decided], isDecided: true };
}

function judge(order: LockedOrder, transfer: TransferRow, entries: LedgerEntry[]): Judged {
  const receipt = receiptOf(order, transfer);
  const fit = fitOf(order, transfer);
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

function toFact(deps: SettleOrderDeps, order: LockedOrder, transfer: TransferRow, facts: OrderFacts) {
  const height = agreedHeight(facts, deps.verifiedDepths.get(order.chain));
  return { ...transfer, deepEnough: isDeepEnough(transfer, height, order.confirmationsRequired) };
}

function changedSettlement(order: LockedOrder, { transfer, booking }: Judged): SettlementRow[] {
  const row = {
    transferId: transfer.transferId,
    bookedAmount: booking.booked?.amount ?? null,
    bookedSymbol: booking.booked?.symbol ?? null,
    bookings: booking.bookings,
  };
  // Its version stays unsettled, so that the sweep gives it to the order that it went to.
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

function changedUnmatched(order: LockedOrder, last: CollectionState, one: Judged): UnmatchedRow[] {
  const { transfer, fit, booking } = one;
  const reason = unmatchedReason(last.status, {
    fit,
    state: transfer.state,
    inTime: isInTime(order, transfer),
    credited: booking.credited,
  });
  const held = transfer.unmatched;
  const wanted =
    reason === null ? held && { reason: held.reason, withdrawn: true } : { reason, withdrawn: false };
  if (wanted === null) return [];
  if (held?.reason === wanted.reason && held.withdrawn === wanted.withdrawn) return [];
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
      holdReason: 'a reorganisation took a credited transfer back',
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

function notificationsOf(
  deps: SettleOrderDeps,
  order: LockedOrder,
  facts: OrderFacts,
  settled: readonly Judged[],
  steps: readonly CollectionStep[],
): NotificationRow[] {
  const told: NotificationRow[] = [];
  const tell = (notifyType: NotifyType, state: CollectionState, transfer: TransferRow | undefined) => {
    const view = viewOf(deps, { ...order, ...state }, transfer, facts.seenHeight);
    const sequence = facts.lastSequence + told.length + 1;
    told.push({ eventId: deps.newId(), sequence, notifyType, data: notifyOrderText(view) });
  };
  const live = settled.filter(
    ({ fit, transfer, booking }) => (fit === 'ORDERED' || booking.credited) && transfer.state !== 'ORPHANED',
  );
  for (const step of steps) {
    if (step.notify === null) continue;
    // A SUCCESS shows a transfer that made it, not one that came after.
    const made = step.event === 'confirmed' || step.event === 'accepted';
    const shown = made ? live.filter((one) => one.booking.credited) : live;
    tell(
      step.notify,
      step.next,
      shown.map((one) => one.transfer).reduce<TransferRow | undefined>(later, undefined),
    );
  }
  if (order.notifyReverted) {
    const reverted = { ...order, reason: COLLECTION_REASONS.reorganised };
    for (const transfer of settled.flatMap((one) => takenBack(order, one)))
      tell('ORDER_REVERTED', reverted, transfer);
  }
  return told;
}

/** The credited transfer that a reorganisation took back: as it was, should something else stand in its place now. */
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

function later(a: TransferRow | undefined, b: TransferRow): TransferRow {
  if (a === undefined) return b;
  if (a.blockHeight !== b.blockHeight) return a.blockHeight > b.blockHeight ? a : b;
  return a.transferId > b.transferId ? a : b;
}
