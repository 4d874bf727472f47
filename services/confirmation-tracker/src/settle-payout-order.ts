import { notifyCollectText, toNotifyCollect } from '@opentill/contracts/format-collect';
import { notifyOrderText, toNotifyOrder } from '@opentill/contracts/format-order';
import { toPayoutTransfer } from '@opentill/contracts/format-payout';
import { toPortableText } from '@opentill/contracts/signing/callback';
import type { NotifyType } from '@opentill/contracts/notify-order';
import { baseUnits } from '@opentill/domain/money';
import {
  PAYOUT_REASONS,
  settlePayout,
  classifyOutcome,
  type FateVerdict,
  type PayoutOrderState,
  type PayoutStep,
} from '@opentill/domain/settle-payout';
import type { IncidentRow, NotificationRow, OrderOutcome } from './store/order-rows.ts';
import type { FateRow, KnownPayout, LockedPayout } from './store/payout-rows.ts';
import type { SettleOrderDeps } from './settle-order.ts';

type Deps = Pick<SettleOrderDeps, 'newId' | 'displayOf'>;

const NOTHING_RECEIVED = { detectedAmount: baseUnits(0n) };
const NO_DEPOSITS = {
  settlements: [],
  unmatched: [],
  reported: [],
  unlisted: [],
  creditedAgain: [],
  entries: [],
};

/** Pure except for new ids; idempotent. Opens an incident if a different amount arrived. */
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

/** Every callback can carry the remaining characters. */
function portable(reason: string | null): string | null {
  return reason === null ? null : toPortableText(reason);
}

/** The decisive transaction, otherwise the latest. Undefined while none is in a block. */
function shownFate(fates: readonly FateRow[]): FateRow | undefined {
  const last = (verdict: FateVerdict) => fates.findLast((fate) => classifyOutcome(fate) === verdict);
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
  // Merchants are notified of refunds of their deposits, but not of transfers between the gateway's own wallets.
  if (order.movement !== null && order.movement !== 'REFUND') return [];
  const notifications: NotificationRow[] = [];
  const add = (notifyType: NotifyType, state: PayoutOrderState, fate: FateRow | undefined) => {
    const view = toNotifyOrder({ ...order, ...state }, shownOf(deps, order, known, fate));
    const sequence = known.lastSequence + notifications.length + 1;
    notifications.push({ eventId: deps.newId(), sequence, notifyType, data: notifyOrderText(view) });
  };
  const shown = shownFate(known.fates);
  // A step to PENDING shows no transaction, even if one was mined since: callbacks show the state at their step.
  for (const { next, notify } of steps) add(notify, next, next.status === 'PENDING' ? undefined : shown);
  if (isTakenBack && order.status === 'SUCCESS' && order.notifyReverted)
    add('ORDER_REVERTED', { ...order, reason: PAYOUT_REASONS.reorganised }, shown ?? known.fates.at(-1));
  return notifications;
}

/**
 * One callback when a sweep is sent, one for its result. None for a sweep that was never sent, or for reorganisations
 * on the way.
 */
function collectsOf(
  deps: Deps,
  order: LockedPayout,
  known: KnownPayout,
  steps: readonly PayoutStep[],
): NotificationRow[] {
  const shown = shownFate(known.fates);
  const wasSent = known.lastSequence > 0 || steps.some(({ event }) => event === 'broadcast');
  const reported = steps.flatMap(({ event, next }) => {
    const notifyType = event === 'failed' && !wasSent ? undefined : COLLECTS[event];
    return notifyType === undefined
      ? []
      : [{ notifyType, next, fate: event === 'broadcast' ? undefined : shown }];
  });
  return reported.map(({ notifyType, next, fate }, place) => {
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

/** The verified result of an ended payout was orphaned or changed to the opposite. */
function endIsTakenBack({ status }: LockedPayout, { was, became }: KnownPayout): boolean {
  const hasEnded = status === 'SUCCESS' || status === 'FAILED';
  return hasEnded && was !== became && (was === 'PAID_OUT' || was === 'RETURNED');
}

function orphaned(deps: Deps, order: LockedPayout, known: KnownPayout): IncidentRow {
  const holdReason = 'a reorganisation orphaned the transaction that had ended a payout';
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
    incident(
      deps,
      order,
      known,
      'PAYOUT_SHORT',
      'a payout delivered a different amount than it sent',
      details,
    ),
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
