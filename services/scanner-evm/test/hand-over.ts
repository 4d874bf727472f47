import { expect } from 'vitest';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { ChainCursor, HandOverWorld, Replica } from './hand-over-world.ts';

export const CONTINUED_WITHIN_SECONDS = 10;

/** Kills the leader without warning; the other one must go on. Gives the seconds that it took. */
export async function killLeader(world: HandOverWorld, leader: Replica): Promise<number> {
  leader.signal('SIGKILL');
  expect(await world.leaseSecondsLeft()).toBeLessThan(CONTINUED_WITHIN_SECONDS);
  return world.continued(leader);
}

/**
 * Freezes the leader between its reading and its commit, in every chain; wakes it up when the other has gone on. What
 * it wanted to write is refused, and it stands by.
 */
export async function freezeLeaderBeforeCommit(world: HandOverWorld, leader: Replica): Promise<void> {
  const held = await world.holdLookUps();
  leader.signal('SIGSTOP');
  await held.release();
  expect(await world.continued(leader)).toBeLessThan(CONTINUED_WITHIN_SECONDS);
  await wakesUpHarmless(world, leader);
  expect(await leader.refusedCommits()).toBe(world.chains);
}

/** Freezes the leader in the middle of its commits: its locks must not keep the other one waiting for long. */
export async function freezeLeaderInCommit(world: HandOverWorld, leader: Replica): Promise<void> {
  const held = await world.holdCommits();
  leader.signal('SIGSTOP');
  await held.release();
  expect(await world.continued(leader)).toBeLessThan(CONTINUED_WITHIN_SECONDS);
  await wakesUpHarmless(world, leader);
}

/** Whoever wakes up writes nothing: the tokens stay those of the other, and cursors only grow. */
async function wakesUpHarmless(world: HandOverWorld, woken: Replica): Promise<void> {
  const taken = await world.cursors();
  const told = taken.map(({ token }) => token);
  woken.signal('SIGCONT');
  await waitUntil(
    `${woken.name} stands by`,
    async () => (await woken.details()).every((detail) => detail === 'standby'),
    60_000,
  );
  let before: readonly ChainCursor[] = taken;
  await waitUntil('three more blocks are seen in every chain', async () => {
    const now = await world.cursors();
    expect(now.map(({ token }) => token)).toEqual(told);
    now.forEach((cursor, place) => {
      expect(cursor.seen).toBeGreaterThanOrEqual(before[place]!.seen);
      expect(cursor.verified).toBeGreaterThanOrEqual(before[place]!.verified);
    });
    before = now;
    return now.every((cursor, place) => cursor.seen >= taken[place]!.seen + 3);
  });
}

/** Nothing is missing, nothing twice, and everything told once. */
export async function expectNoGapNoDouble(world: HandOverWorld): Promise<void> {
  // As many are made in a time as the machine can.
  await waitUntil('enough was paid', async () => (await world.truth()).length > 20, 60_000);
  await world.settle();
  const truth = await world.truth();
  expect(await world.recorded()).toEqual(truth);
  expect(await world.timesTold()).toEqual(truth.map(() => 1));
}
