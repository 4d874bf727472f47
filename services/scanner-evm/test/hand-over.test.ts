import { afterAll, beforeAll, describe, it } from 'vitest';
import { createHandOverWorld, type HandOverWorld } from './hand-over-world.ts';
import { expectNoGapNoDouble, killLeader } from './hand-over.ts';

let world: HandOverWorld;
beforeAll(async () => {
  world = await createHandOverWorld();
});
afterAll(() => world.close());

/**
 * Frozen ones are in process.test.ts, with one chain, and all of it in turn in hand-over.full.test.ts, with how long it takes
 * by the clock: here the machine may be as slow as it likes.
 */
describe('two replicas with three chains', () => {
  it('go on with all of them when the leader is killed, without gap or double', async () => {
    const first = await world.startReplica('first');
    await world.leads(first);
    const second = await world.startReplica('second');
    await killLeader(world, first);
    await world.leads(second);
    await expectNoGapNoDouble(world);
  }, 400_000);
});
