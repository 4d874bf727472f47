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

export function addSweeps(program: Command, add: AddCommand): void {
  const sweep = program.command('sweep').description('deposit addresses emptied to cold storage');
  const plan = 'show what would be swept now, at what cost, and why the rest waits';
  add(sweep, 'plan', plan, [CHAIN], showSweepPlan);
  const list =
    'running sweeps: number, chain, address, amount, destination, method, state, steps, reason, since';
  add(sweep, 'list', list, [CHAIN, ALL], listSweeps);
  const run = 'also sweep money before its age, once; within all other limits of the policy';
  add(sweep, 'run', run, [ON_CHAIN, REASON], runSweeps);
  add(sweep, 'pause', 'start no sweep; running ones are completed', [ON_CHAIN, REASON], pauseSweeps);
  add(sweep, 'resume', 'start sweeps again', [ON_CHAIN, REASON], resumeSweeps);
  const unmatched = program.command('unmatched').description('deposits that no order could take');
  const which = [
    CHAIN,
    option('--reason <reason>', 'LATE, WRONG_TOKEN, WRONG_CHAIN, UNDERPAID, AFTER_SUCCESS or ORDER_FAILED'),
    option('--all', 'include those that were refunded completely'),
  ];
  add(unmatched, 'list', 'list them with reason and remaining amount', which, listUnmatched);
  const accept = 'accept one for the order of its address, which has expired';
  const worth = "its value in the order's token, if it is another token or on another chain";
  add(unmatched, 'accept <transferId>', accept, [option('--as <amount>', worth), REASON], acceptUnmatched);
  const refund = 'refund one, or a part of it, to an address that you give';
  const parts = [needed('--to <address>'), option('--amount <amount>', 'a part of it'), REASON];
  add(unmatched, 'refund <transferId>', refund, parts, refundUnmatched);
}
