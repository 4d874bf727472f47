import type { Command } from 'commander';
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
import type { CliContext } from './context.ts';

const REASON = ['--reason <text>', 'why; kept in the audit log'] as const;
const CHAIN = ['--chain <chain>', 'of this chain alone'] as const;
const ALL = ['--all', 'those that have ended, too'] as const;

/** The commands about money on deposit addresses: `opentill sweep …` and `opentill unmatched …`. */
export function addSweeps(program: Command, context: CliContext): void {
  const sweep = program.command('sweep').description('deposit addresses emptied to cold storage');
  const which = ['--chain <chain>', 'on this chain'] as const;
  sweep
    .command('plan')
    .description('what would be swept now, for how much, and why the rest waits')
    .option(...CHAIN)
    .action((options: { chain?: string }) => showSweepPlan(context, options));
  sweep
    .command('list')
    .description(
      'what is under way: number, chain, address, amount, to where, how, state, steps, reason, since',
    )
    .option(...CHAIN)
    .option(...ALL)
    .action((options: { chain?: string; all?: boolean }) => listSweeps(context, options));
  sweep
    .command('run')
    .description('sweep young money too, once; within all other bounds of the policy')
    .requiredOption(...which)
    .requiredOption(...REASON)
    .action((options: { chain: string; reason: string }) => runSweeps(context, options));
  sweep
    .command('pause')
    .description('begin no sweep; what has begun is ended')
    .requiredOption(...which)
    .requiredOption(...REASON)
    .action((options: { chain: string; reason: string }) => pauseSweeps(context, options));
  sweep
    .command('resume')
    .description('begin sweeps again')
    .requiredOption(...which)
    .requiredOption(...REASON)
    .action((options: { chain: string; reason: string }) => resumeSweeps(context, options));
  const unmatched = program.command('unmatched').description('deposits that no order could take');
  unmatched
    .command('list')
    .description('which lie there, why, and what is left of each')
    .option(...CHAIN)
    .option('--reason <reason>', 'LATE, WRONG_TOKEN, WRONG_CHAIN, UNDERPAID, AFTER_SUCCESS or ORDER_FAILED')
    .option('--all', 'those that were given back whole, too')
    .action((options: { chain?: string; reason?: string; all?: boolean }) => listUnmatched(context, options));
  unmatched
    .command('accept')
    .description('take one for the order of its address, which has expired')
    .argument('<transferId>')
    .option(
      '--as <amount>',
      "what it counts as in the order's token, where it is another one or on another chain",
    )
    .requiredOption(...REASON)
    .action((id: string, options: { as?: string; reason: string }) => acceptUnmatched(context, id, options));
  unmatched
    .command('refund')
    .description('give one back, or a part of it, to an address that you say')
    .argument('<transferId>')
    .requiredOption('--to <address>')
    .option('--amount <amount>', 'a part of it')
    .requiredOption(...REASON)
    .action((id: string, options: { to: string; amount?: string; reason: string }) =>
      refundUnmatched(context, id, options),
    );
}
