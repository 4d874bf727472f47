import { describe, expect, it } from 'vitest';
import { aTx } from './mock-node.ts';
import { forgetScans } from './scan-harness.ts';
import {
  createCrasher,
  FIRST_BLOCKS,
  OURS,
  STRANGER,
  useSimulation,
  type Simulation,
  type World,
} from './simulated-world.ts';

/** How often a crash is tried that a way did not come to: how many steps it has depends on which reads end first. */
const TRIES = 20;

/** Deposits, a reorganisation that drops one, moves one and brings one, and a deep one below the verified cursor. */
async function story(
  { signedOnes, checkEndState }: Simulation,
  { node, scanUntilQuiet }: World,
): Promise<void> {
  for (let i = 0; i < FIRST_BLOCKS; i += 1) node.mine();
  await scanUntilQuiet();
  const [a, b] = OURS as [(typeof OURS)[0], (typeof OURS)[0]];
  const [stays, moves, goes] = [
    aTx({ to: a, amount: 1n }, { to: b, amount: 2n }),
    aTx({ to: STRANGER, amount: 3n }, { to: b, amount: 4n }),
    aTx({ to: a, amount: 5n }),
  ];
  const [paid, , movedOut, , lostOut] = await signedOnes();
  node.mine(stays, paid);
  node.mine(moves, goes, movedOut, lostOut);
  await scanUntilQuiet();
  const comes = aTx({ to: b, amount: 6n });
  node.reorg(1, [comes], [moves, movedOut]);
  await scanUntilQuiet();
  await checkEndState(node);
  node.mine();
  await scanUntilQuiet();
  node.reorg(4, [], [movedOut], [goes], [moves, lostOut], []);
  await scanUntilQuiet();
}

/** A way long enough to be read in parallel: crashes fall between what is read ahead and its commit. */
async function longWay({ signedOnes }: Simulation, { node, scanUntilQuiet }: World): Promise<void> {
  for (let i = 0; i < FIRST_BLOCKS; i += 1) node.mine();
  await scanUntilQuiet();
  const [out] = await signedOnes();
  for (let i = 0; i < 18; i += 1)
    node.mine(
      ...(i === 3 ? [out] : []),
      ...(i % 4 === 0 ? [aTx({ to: OURS[0]!, amount: BigInt(i + 1), isNative: i % 8 === 0 })] : []),
    );
  await scanUntilQuiet();
}

/**
 * Crashes a scan at every step, or at `crashes` of them; another replica takes over each time. The end is as if nothing had happened.
 * `counted` undisturbed ways count the steps; the fewest count.
 */
export function describeCrashes(counted: number, crashes: 'every step' | number): void {
  const simulation = useSimulation();

  describe('a scan that crashes at any of its steps', () => {
    it.each([
      { name: 'ends as one that nothing disturbed', history: story },
      { name: 'catches up as one that nothing disturbed', history: longWay },
    ])(
      '$name',
      async ({ history }) => {
        /** The steps it took. */
        async function goThrough(crashAt: number): Promise<number> {
          await forgetScans(simulation.admin);
          const crasher = createCrasher();
          crasher.crashAt = crashAt;
          const world = simulation.createWorld(crasher);
          await history(simulation, world);
          await simulation.checkEndState(world.node);
          return crasher.steps;
        }
        const counts: number[] = [];
        for (let way = 0; way < counted; way += 1) counts.push(await goThrough(-1));
        const total = Math.min(...counts);
        expect(total).toBeGreaterThan(40);
        // Steps come in pairs, before and after a call: an odd distance meets both.
        const distance = crashes === 'every step' ? 1 : Math.ceil(total / crashes) | 1;
        for (let crashAt = 0; crashAt < total; crashAt += distance) {
          let tries = 1;
          while ((await goThrough(crashAt)) <= crashAt) {
            tries += 1;
            if (tries > TRIES) throw new Error(`no scan of ${TRIES} came to step ${crashAt} of ${total}`);
          }
        }
      },
      300_000,
    );
  });
}
