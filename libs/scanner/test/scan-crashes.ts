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

/** To reach a step: the number of steps depends on which reads end first. */
const TRIES = 20;

/** Deposits; a reorganisation that drops, moves and adds one; a deep one below the verified cursor. */
async function story(
  { signedTransactions, checkEndState }: Simulation,
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
  const [paid, , movedOut, , lostOut] = await signedTransactions();
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

/** Long enough to be read in parallel, so that crashes fall between reading ahead and commit. */
async function longRange({ signedTransactions }: Simulation, { node, scanUntilQuiet }: World): Promise<void> {
  for (let i = 0; i < FIRST_BLOCKS; i += 1) node.mine();
  await scanUntilQuiet();
  const [out] = await signedTransactions();
  for (let i = 0; i < 18; i += 1)
    node.mine(
      ...(i === 3 ? [out] : []),
      ...(i % 4 === 0 ? [aTx({ to: OURS[0]!, amount: BigInt(i + 1), isNative: i % 8 === 0 })] : []),
    );
  await scanUntilQuiet();
}

/**
 * Crashes a scan at every step, or at `crashes` steps; another replica takes over each time. The result must equal that
 * of an undisturbed scan. `counted` undisturbed runs count the steps; the lowest count is used.
 */
export function describeCrashes(counted: number, crashes: 'every step' | number): void {
  const simulation = useSimulation();

  describe('scan that crashes at any step', () => {
    it.each([
      { name: 'reaches the same result as an undisturbed scan', history: story },
      { name: 'catches up to the same result as an undisturbed scan', history: longRange },
    ])(
      '$name',
      async ({ history }) => {
        async function runWithCrash(crashAt: number): Promise<number> {
          await forgetScans(simulation.admin);
          const crasher = createCrasher();
          crasher.crashAt = crashAt;
          const world = simulation.createWorld(crasher);
          await history(simulation, world);
          await simulation.checkEndState(world.node);
          return crasher.steps;
        }
        const counts: number[] = [];
        for (let way = 0; way < counted; way += 1) counts.push(await runWithCrash(-1));
        const total = Math.min(...counts);
        expect(total).toBeGreaterThan(40);
        // Steps come in pairs, before and after a call. An odd distance crashes at both kinds.
        const distance = crashes === 'every step' ? 1 : Math.ceil(total / crashes) | 1;
        for (let crashAt = 0; crashAt < total; crashAt += distance) {
          let tries = 1;
          while ((await runWithCrash(crashAt)) <= crashAt) {
            tries += 1;
            if (tries > TRIES) throw new Error(`none of ${TRIES} scans reached step ${crashAt} of ${total}`);
          }
        }
      },
      300_000,
    );
  });
}
