import { expect, it } from 'vitest';
import { createHeadFollowing } from './follow-heads.ts';

interface Subscription {
  readonly onHead: () => void;
  readonly signal: AbortSignal;
  readonly end: () => void;
}

function subscribing() {
  const subscriptions: Subscription[] = [];
  let heads = 0;
  const following = createHeadFollowing(
    {
      subscribeHeads(onHead, signal) {
        const { promise, resolve } = Promise.withResolvers<void>();
        subscriptions.push({ onHead, signal, end: () => resolve() });
        return promise;
      },
    },
    () => (heads += 1),
  );
  return { following, subscriptions, heads: () => heads };
}

it('has one subscription while heads are followed', () => {
  const { following, subscriptions, heads } = subscribing();
  following.follow(false);
  following.follow(true);
  following.follow(true);
  expect(subscriptions).toHaveLength(1);
  subscriptions[0]!.onHead();
  following.follow(false);
  expect(subscriptions[0]!.signal.aborted).toBe(true);
  subscriptions[0]!.onHead(); // was on its way
  following.follow(true);
  subscriptions[1]!.onHead();
  expect(heads()).toBe(2);
});

it('stops when every subscription has ended', async () => {
  const { following, subscriptions } = subscribing();
  following.follow(true);
  following.follow(false);
  following.follow(true);
  let isStopped = false;
  const stopped = following.stop().then(() => (isStopped = true));
  expect(subscriptions.map(({ signal }) => signal.aborted)).toEqual([true, true]);
  subscriptions[1]!.end();
  await new Promise(setImmediate);
  expect(isStopped).toBe(false);
  subscriptions[0]!.end();
  await stopped;
});

it('follows by polls only where a reader has no subscription', async () => {
  const following = createHeadFollowing({}, () => undefined);
  following.follow(true);
  await following.stop();
});
