import type { Command } from 'commander';
import { ALL, CHAIN, needed, option, REASON, type AddCommand } from './add-command.ts';
import {
  acceptUnmatched,
  listSweeps,
  listUnmatched,
  pauseSweeps,
  refundUnmatched,
  resumeSweeps,
  runSweeps,
  showSweepPlan,
} from './commands/ops/sweeps.ts';

const ON_CHAIN = needed('--chain <chain>', 'on this chain');

/** The commands about money on deposit addresses: `opentill sweep …` and `opentill unmatched …`. */
export function addSweeps(program: Command, add: AddCommand): void {
  const sweep = program.command('sweep').description('deposit addresses emptied to cold storage');
  const plan = 'what would be swept now, for how much, and why the rest waits';
  add(sweep, 'plan', plan, [CHAIN], showSweepPlan);
  const list =
    'what is under way: number, chain, address, amount, to where, how, state, steps, reason, since';
  add(sweep, 'list', list, [CHAIN, ALL], listSweeps);
  const run = 'sweep young money too, once; within all other bounds of the policy';
  add(sweep, 'run', run, [ON_CHAIN, REASON], runSweeps);
  add(sweep, 'pause', 'begin no sweep; what has begun is ended', [ON_CHAIN, REASON], pauseSweeps);
  add(sweep, 'resume', 'begin sweeps again', [ON_CHAIN, REASON], resumeSweeps);
  const unmatched = program.command('unmatched').description('deposits that no order could take');
  const which = [
    CHAIN,
    option('--reason <reason>', 'LATE, WRONG_TOKEN, WRONG_CHAIN, UNDERPAID, AFTER_SUCCESS or ORDER_FAILED'),
    option('--all', 'those that were given back whole, too'),
  ];
  add(unmatched, 'list', 'which lie there, why, and what is left of each', which, listUnmatched);
  const accept = 'take one for the order of its address, which has expired';
  const worth = "what it counts as in the order's token, where it is another one or on another chain";
  add(unmatched, 'accept <transferId>', accept, [option('--as <amount>', worth), REASON], acceptUnmatched);
  const refund = 'give one back, or a part of it, to an address that you say';
  const parts = [needed('--to <address>'), option('--amount <amount>', 'a part of it'), REASON];
  add(unmatched, 'refund <transferId>', refund, parts, refundUnmatched);
}
