import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHandOverWorld, type HandOverWorld } from './hand-over-world.ts';
import { expectNoGapNoDouble, freezeLeaderBeforeCommit, killLeader } from './hand-over.ts';

let world: HandOverWorld;
beforeAll(async () => {
  world = await createHandOverWorld();
});
afterAll(() => world.close());

describe('two replicas with three chains', () => {
  it('hand all of them over when the leader freezes, and again when the next one dies', async () => {
    const first = await world.startReplica('first');
    await world.leads(first);
    const second = await world.startReplica('second');
    await freezeLeaderBeforeCommit(world, first);
    expect(await second.refusedCommits()).toBe(0);
    await killLeader(world, second);
    await world.leads(first);
    await expectNoGapNoDouble(world);
  });
});
