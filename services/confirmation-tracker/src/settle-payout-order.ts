import { notifyCollectText, toNotifyCollect } from '@opentill/contracts/format-collect';
import { notifyOrderText, toNotifyOrder } from '@opentill/contracts/format-order';
import { toPayoutTransfer } from '@opentill/contracts/format-payout';
import { toPortableText } from '@opentill/contracts/signing/callback';
import type { NotifyType } from '@opentill/contracts/notify-order';
import { baseUnits } from '@opentill/domain/money';
import {
  PAYOUT_REASONS,
  settlePayout,
  verdictOf,
  type FateVerdict,
  type PayoutOrderState,
  type PayoutStep,
} from '@opentill/domain/settle-payout';
import type { IncidentRow, NotificationRow, OrderOutcome } from './store/order-rows.ts';
import type { FateRow, KnownPayout, LockedPayout } from './store/payout-rows.ts';
import type { SettleOrderDeps } from './settle-order.ts';

type Deps = Pick<SettleOrderDeps, 'newId' | 'displayOf'>;

/** Nothing of a payout comes in. */
const NOTHING_RECEIVED = { detectedAmount: baseUnits(0n) };
const NO_DEPOSITS = { settlements: [], unmatched: [], creditedAgain: [], entries: [] };

/**
 * What the facts make of one payout's order: its moves and their callbacks, an incident where another amount arrived.
 * Pure but for new ids; with nothing to do every list is empty.
 */
export function settlePayoutOrder(deps: Deps, order: LockedPayout, known: KnownPayout): OrderOutcome {
  const steps = settlePayout(order, { ...known, signingReason: portable(known.signingReason) });
  const last = steps.at(-1)?.next;
  const isTakenBack = endIsTakenBack(order, known);
  const changed = known.fates.filter((fate) => fate.settledVersion !== fate.version);
  return {
    order,
    moved: last === undefined ? null : { ...last, ...NOTHING_RECEIVED, steps: steps.length },
    isDecided: false,
    notifications: notificationsOf(deps, order, known, steps, isTakenBack),
    incidents: [
      ...shortOf(deps, order, known, steps),
      ...(isTakenBack ? [orphaned(deps, order, known)] : []),
    ],
    ...NO_DEPOSITS,
    newestChangeAt: changed.reduce<Date | null>(
      (newest, fate) => (newest === null || fate.updatedAt > newest ? fate.updatedAt : newest),
      null,
    ),
  };
}

/** The signer's words as every callback can carry them. */
function portable(reason: string | null): string | null {
  return reason === null ? null : toPortableText(reason);
}

/** The transaction that the merchant is shown: the one that decides, else the latest. Undefined while none is in a block. */
function shownFate(fates: readonly FateRow[]): FateRow | undefined {
  const last = (verdict: FateVerdict) => fates.findLast((fate) => verdictOf(fate) === verdict);
  return last('LANDED') ?? last('IN_BLOCK') ?? last('FAILED');
}

function notificationsOf(
  deps: Deps,
  order: LockedPayout,
  known: KnownPayout,
  steps: readonly PayoutStep[],
  isTakenBack: boolean,
): NotificationRow[] {
  if (order.movement === 'SWEEP') return collectsOf(deps, order, known, steps);
  // What the gateway moves between its own wallets is nobody's news; what it gives back of a deposit is its merchant's.
  if (order.movement !== null && order.movement !== 'REFUND') return [];
  const told: NotificationRow[] = [];
  const tell = (notifyType: NotifyType, state: PayoutOrderState, fate: FateRow | undefined) => {
    const view = toNotifyOrder({ ...order, ...state }, shownOf(deps, order, known, fate));
    const sequence = known.lastSequence + told.length + 1;
    told.push({ eventId: deps.newId(), sequence, notifyType, data: notifyOrderText(view) });
  };
  const shown = shownFate(known.fates);
  // On its way it is in no block, whatever became of it since: what is told of a step is what was true then.
  for (const { next, notify } of steps) tell(notify, next, next.status === 'PENDING' ? undefined : shown);
  if (isTakenBack && order.status === 'SUCCESS' && order.notifyReverted)
    tell('ORDER_REVERTED', { ...order, reason: PAYOUT_REASONS.reorganised }, shown ?? known.fates.at(-1));
  return told;
}

/**
 * What a merchant hears of a sweep: that it was sent, once, and how it ended. Of one that was never sent nothing, and of a
 * reorganisation on the way neither.
 */
function collectsOf(
  deps: Deps,
  order: LockedPayout,
  known: KnownPayout,
  steps: readonly PayoutStep[],
): NotificationRow[] {
  const shown = shownFate(known.fates);
  const wasSent = known.lastSequence > 0 || steps.some(({ event }) => event === 'broadcast');
  const heard = steps.flatMap(({ event, next }) => {
    const notifyType = event === 'failed' && !wasSent ? undefined : COLLECTS[event];
    return notifyType === undefined
      ? []
      : [{ notifyType, next, fate: event === 'broadcast' ? undefined : shown }];
  });
  return heard.map(({ notifyType, next, fate }, place) => {
    const view = toNotifyCollect({ ...order, ...next }, shownOf(deps, order, known, fate));
    const sequence = known.lastSequence + place + 1;
    return { eventId: deps.newId(), sequence, notifyType, data: notifyCollectText(view) };
  });
}

const COLLECTS: Readonly<Partial<Record<PayoutStep['event'], NotifyType>>> = {
  broadcast: 'COLLECT_PENDING',
  confirmed: 'COLLECT_SUCCESS',
  failed: 'COLLECT_FAILED',
};

function shownOf(deps: Deps, order: LockedPayout, known: KnownPayout, fate: FateRow | undefined) {
  if (fate === undefined) return null;
  const context = { ...deps.displayOf(order.chain), headHeight: known.seenHeight };
  return { transfer: toPayoutTransfer(fate), context };
}

/** An ended payout whose verified end was taken back, or became the other one. */
function endIsTakenBack({ status }: LockedPayout, { was, became }: KnownPayout): boolean {
  const hasEnded = status === 'SUCCESS' || status === 'FAILED';
  return hasEnded && was !== became && (was === 'PAID_OUT' || was === 'RETURNED');
}

function orphaned(deps: Deps, order: LockedPayout, known: KnownPayout): IncidentRow {
  const holdReason = 'a reorganisation took back the transaction by which a payout had ended';
  const { was, became } = known;
  return incident(deps, order, known, 'PAYOUT_ORPHANED', holdReason, { was, became });
}

function shortOf(
  deps: Deps,
  order: LockedPayout,
  known: KnownPayout,
  steps: readonly PayoutStep[],
): IncidentRow[] {
  const delivered = steps.find((step) => step.event === 'confirmed')?.next.actualAmount;
  if (delivered === undefined || delivered === null || delivered === order.amount) return [];
  const details = { deliveredBaseUnits: delivered.toString() };
  return [
    incident(deps, order, known, 'PAYOUT_SHORT', 'a payout delivered another amount than it sent', details),
  ];
}

function incident(
  deps: Deps,
  order: LockedPayout,
  known: KnownPayout,
  kind: IncidentRow['kind'],
  holdReason: string,
  details: IncidentRow['details'],
): IncidentRow {
  return {
    incidentId: deps.newId(),
    holdId: deps.newId(),
    kind,
    transferId: null,
    chain: order.chain,
    symbol: order.symbol,
    holdReason,
    details: {
      orderId: order.orderId,
      merchantId: order.merchantId,
      ...(order.movement !== null && { movement: order.movement }),
      amountBaseUnits: order.amount.toString(),
      txHashes: known.fates.map((fate) => fate.txHash).join(' '),
      ...details,
    },
  };
}
