import { afterAll, beforeAll, describe, it } from 'vitest';
import { createHandOverWorld, type HandOverWorld } from './hand-over-world.ts';
import {
  expectNoGapNoDouble,
  freezeLeaderBeforeCommit,
  freezeLeaderInCommit,
  killLeader,
} from './hand-over.ts';

let world: HandOverWorld;
beforeAll(async () => {
  world = await createHandOverWorld();
});
afterAll(() => world.close());

describe('two replicas with three chains, each killed and frozen in turn', () => {
  it('continues within 10 s without gaps, duplicates or writes of a woken replica', async () => {
    const first = await world.startReplica('first');
    await world.leads(first);
    const second = await world.startReplica('second');
    await freezeLeaderBeforeCommit(world, first); // the second leads
    await world.leads(second);
    await freezeLeaderInCommit(world, second); // the first leads
    await world.leads(first);
    await killLeader(world, first); // the second leads
    await world.leads(second);
    const third = await world.startReplica('third');
    await killLeader(world, second); // the third leads
    await world.leads(third);
    const fourth = await world.startReplica('fourth');
    await freezeLeaderInCommit(world, third); // the fourth leads
    await world.leads(fourth);
    await freezeLeaderBeforeCommit(world, fourth); // the third leads again
    await world.leads(third);
    await expectNoGapNoDouble(world);
  });
});
