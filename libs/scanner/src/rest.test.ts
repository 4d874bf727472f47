import { describe, expect, it } from 'vitest';
import type { SourceHealth } from '@opentill/chain/source-health';
import { createRest, type Pace } from './rest.ts';
import type { ScanNetwork } from './scan-network.ts';
import type { Scanning } from './scanning.ts';

const POLL_MS = 3_000;
const REST_MS = 30_000;

function resting(changes: Partial<ScanNetwork> = {}) {
  let nowMs = 0;
  const world = {
    isAwaited: false,
    state: 'RUNNING',
    failingSinceSeconds: null as number | null,
    asked: 0,
    following: [] as boolean[],
  };
  const scanning = {
    network: { chain: 'ETH', pollIntervalMs: POLL_MS, restIntervalMs: REST_MS, ...changes },
    reader: {
      sources: () => [{ failingSinceSeconds: world.failingSinceSeconds } as SourceHealth],
    },
    store: {
      isAwaited() {
        world.asked += 1;
        return Promise.resolve(world.isAwaited);
      },
    },
    observe: { status: () => ({ state: world.state }), resting: () => undefined },
    clock: { now: () => new Date(nowMs) },
  } as unknown as Scanning;
  const rest = createRest(scanning, (isFollowing) => {
    if (world.following.at(-1) !== isFollowing) world.following.push(isFollowing);
  });
  const poll = async (): Promise<Pace> => {
    nowMs += POLL_MS;
    const pace = await rest.next();
    if (pace !== 'rest') rest.quiet();
    return pace;
  };
  const polls = async (count: number): Promise<readonly Pace[]> => {
    const paces: Pace[] = [];
    while (paces.length < count) paces.push(await poll());
    return paces;
  };
  return { world, rest, poll, polls, pass: (ms: number) => (nowMs += ms) };
}

const RESTS = Array.from({ length: 9 }, () => 'rest');

describe('rest', () => {
  it('leaves nine of ten polls out while no work is open', async () => {
    const { polls, world } = resting();
    expect(await polls(21)).toEqual(['follow', ...RESTS, 'look', ...RESTS, 'look']);
    expect(world.following).toEqual([true, false]); // the round of a rest subscribes to no heads
  });

  it('ends at the next poll when something is expected', async () => {
    const { polls, world } = resting();
    await polls(3);
    world.isAwaited = true;
    expect(await polls(3)).toEqual(['after-rest', 'follow', 'follow']);
    expect(world.following).toEqual([true, false, true]);
    world.isAwaited = false;
    expect(await polls(2)).toEqual(['rest', 'rest']);
  });

  it('follows while rounds leave work', async () => {
    const { rest, polls, pass, world } = resting();
    await polls(3);
    pass(REST_MS);
    expect(await rest.next()).toBe('look'); // and the round leaves work
    pass(POLL_MS);
    expect(await rest.next()).toBe('follow');
    expect(world.following.at(-1)).toBe(true);
  });

  it('never rests with an interval that is the poll interval', async () => {
    const { polls, world } = resting({ restIntervalMs: POLL_MS });
    expect(await polls(3)).toEqual(['follow', 'follow', 'follow']);
    expect(world.asked).toBe(0);
  });

  it.each(['FAILING', 'HALTED', 'STARTING'])('does not rest in the state %s', async (state) => {
    const { polls, world } = resting();
    world.state = state;
    expect(await polls(3)).toEqual(['follow', 'follow', 'follow']);
  });

  it('asks a failing source at the full pace for five minutes', async () => {
    const { polls, pass, world } = resting();
    world.failingSinceSeconds = 0;
    expect(await polls(99)).not.toContain('rest');
    pass(POLL_MS);
    expect(await polls(1)).toEqual(['rest']);
  });

  it('asks a failing source at the full pace until a single one is accepted', async () => {
    const { polls, pass, world } = resting({ aloneAfterSeconds: 900 });
    world.failingSinceSeconds = 0;
    pass(880_000);
    expect(await polls(6)).not.toContain('rest');
    expect(await polls(2)).toContain('rest');
  });

  it('asks the database once per poll, however many heads arrive', async () => {
    const { rest, poll, pass, world } = resting();
    world.isAwaited = true;
    await poll();
    await poll();
    for (let head = 0; head < 10; head += 1) {
      pass(100);
      await rest.next();
      rest.quiet();
    }
    expect(world.asked).toBe(1);
  });

  it('stops following when another replica scans the chain', async () => {
    const { rest, polls, world } = resting();
    await polls(1);
    rest.stop();
    expect(world.following).toEqual([true, false]);
    expect(await polls(2)).toEqual(['follow', 'rest']);
  });
});
