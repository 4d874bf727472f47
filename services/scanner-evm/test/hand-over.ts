import { expect } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { ChainCursor, HandOverWorld, Replica } from './hand-over-world.ts';

const LEASE_SECONDS_MAX = 10;

export async function killLeader(world: HandOverWorld, leader: Replica): Promise<void> {
  leader.signal('SIGKILL');
  expect(await world.leaseSecondsLeft()).toBeLessThan(LEASE_SECONDS_MAX);
  await world.continued(leader);
}

/** Stops the leader between reading and commit. When it wakes, its commits must be rejected. */
export async function freezeLeaderBeforeCommit(world: HandOverWorld, leader: Replica): Promise<void> {
  const held = await world.holdLookups();
  leader.signal('SIGSTOP');
  await held.release();
  await world.continued(leader);
  await expectNoWritesAfterWakeUp(world, leader);
  expect(await leader.refusedCommits()).toBe(world.chains);
}

/** The leader stops in the middle of its commits, whose locks must not block the other replica for long. */
export async function freezeLeaderInCommit(world: HandOverWorld, leader: Replica): Promise<void> {
  const held = await world.holdCommits();
  leader.signal('SIGSTOP');
  await held.release();
  await world.continued(leader);
  await expectNoWritesAfterWakeUp(world, leader);
}

/** The fencing tokens stay the other's, and cursors only grow. */
async function expectNoWritesAfterWakeUp(world: HandOverWorld, woken: Replica): Promise<void> {
  const taken = await world.cursors();
  const tokens = taken.map(({ token }) => token);
  woken.signal('SIGCONT');
  await waitUntil(`${woken.name} stands by`, async () =>
    (await woken.details()).every((detail) => detail === 'standby'),
  );
  let before: readonly ChainCursor[] = taken;
  await waitUntil('three more blocks are seen in every chain', async () => {
    const now = await world.cursors();
    expect(now.map(({ token }) => token)).toEqual(tokens);
    now.forEach((cursor, place) => {
      expect(cursor.seen).toBeGreaterThanOrEqual(before[place]!.seen);
      expect(cursor.verified).toBeGreaterThanOrEqual(before[place]!.verified);
    });
    before = now;
    return now.every((cursor, place) => cursor.seen >= taken[place]!.seen + 3);
  });
}

export async function expectNoGapNoDouble(world: HandOverWorld): Promise<void> {
  // The number of payments depends on the machine.
  await waitUntil('enough was paid', async () => (await world.truth()).length > 20);
  await world.settle();
  const truth = await world.truth();
  expect(await world.recorded()).toEqual(truth);
  expect(await world.eventCounts()).toEqual(truth.map(() => 1));
}
