import { notifyOrderText } from '@opentill/contracts/format-order';
import type { NotifyType } from '@opentill/contracts/notify-order';
import type { Chain } from '@opentill/domain/chains';
import {
  COLLECTION_REASONS,
  type CollectionState,
  type CollectionStep,
} from '@opentill/domain/settle-collection';
import type { ChainDisplay } from './display-forms.ts';
import type { LockedOrder, NotificationRow, OrderFacts, TransferRow } from './store/order-rows.ts';
import { viewOf } from './view-order.ts';

export interface NotifyDeps {
  readonly newId: () => string;
  readonly displayOf: (chain: Chain) => ChainDisplay;
}

/** Shown in callbacks. */
export interface Shown {
  /** Newest transfer credited by a SUCCESS. */
  readonly credited: TransferRow | undefined;
  readonly newest: TransferRow | undefined;
  readonly takenBack: readonly TransferRow[];
  /** `data` of ORDER_UNMATCHED; null for none. */
  readonly unmatched: string | null;
}

export function notificationsOf(
  deps: NotifyDeps,
  order: LockedOrder,
  facts: OrderFacts,
  shown: Shown,
  steps: readonly CollectionStep[],
): NotificationRow[] {
  const notifications: NotificationRow[] = [];
  const addText = (notifyType: NotifyType, data: string) => {
    const sequence = facts.lastSequence + notifications.length + 1;
    notifications.push({ eventId: deps.newId(), sequence, notifyType, data });
  };
  const add = (notifyType: NotifyType, state: CollectionState, transfer: TransferRow | undefined) =>
    addText(notifyType, notifyOrderText(viewOf(deps, { ...order, ...state }, transfer)));
  for (const step of steps) {
    // A SUCCESS shows a transfer it credited, not a later one.
    if (step.notify !== null)
      add(step.notify, step.next, step.credits === null ? shown.newest : shown.credited);
  }
  if (order.notifyReverted) {
    const reverted = { ...order, reason: COLLECTION_REASONS.reorganised };
    for (const transfer of shown.takenBack) add('ORDER_REVERTED', reverted, transfer);
  }
  if (shown.unmatched !== null) addText('ORDER_UNMATCHED', shown.unmatched);
  return notifications;
}
