import { expect } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { CallbackReceiver } from './callback-receiver.ts';
import { WAIT_MS } from './time-limits.ts';

// Callbacks as CallbackReceiver.story() shows them.
export const CREATED = 'ORDER_PENDING INIT';
/** A collection is partly paid, or a payout is signed. */
export const PENDING = 'ORDER_PENDING PENDING';
export const CONFIRMING = 'ORDER_PENDING_CONFIRMATION PENDING_CONFIRMATION';
export const PAID = 'ORDER_SUCCESS SUCCESS';
export const EXPIRED = 'ORDER_EXPIRED EXPIRED';
export const FAILED = 'ORDER_FAILED FAILED';
export const WAY_OF_A_PAYOUT = [CREATED, PENDING, CONFIRMING, PAID];

/** Waits for as many callbacks of the order as `story` has, and expects these. */
export async function untilStory(
  receiver: CallbackReceiver,
  { orderId }: { readonly orderId: string },
  story: readonly string[],
  withinMs = WAIT_MS,
): Promise<void> {
  const received = () => receiver.story(orderId);
  const isComplete = () => received().length >= story.length;
  await waitUntil(`${orderId}: ${story.join(', ')}`, isComplete, withinMs).catch(() => undefined);
  expect(received()).toEqual(story); // on a timeout, shows the actual callbacks
}
