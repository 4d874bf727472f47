import type { Command } from 'commander';
import { checkPolicy } from './commands/policy/check-policy.ts';
import { initApprover } from './commands/policy/init-approver.ts';
import { sealPolicyFile, showPolicy, type SealPolicyOptions } from './commands/policy/seal-policy.ts';
import type { CliContext } from './context.ts';

const PASSPHRASE_FILE = [
  '--passphrase-file <file>',
  'file with the passphrase (otherwise asked for)',
] as const;
const NETWORKS_FILE = [
  '--networks-file <file>',
  'whose tokens the amounts are of; default: NETWORKS_FILE',
] as const;

/** `opentill policy …` and `opentill approver …` */
export function addPolicy(program: Command, context: CliContext): void {
  const policy = program.command('policy').description('what payout-signer may sign');
  policy
    .command('check')
    .description('what a policy comes to, or all that is wrong with it')
    .argument('<file>', 'the policy as JSON')
    .option(...NETWORKS_FILE)
    .action((file: string, options: { networksFile?: string }) => checkPolicy(context, { ...options, file }));
  policy
    .command('seal')
    .description('encrypt a policy for the signer of a keystore')
    .argument('<file>', 'the policy as JSON')
    .requiredOption('--keystore <file>', 'the encrypted keystore it is for')
    .requiredOption('--out <file>', 'where the sealed policy goes; an older one is replaced')
    .option(...PASSPHRASE_FILE)
    .option(...NETWORKS_FILE)
    .action((file: string, options: Omit<SealPolicyOptions, 'file'>) =>
      sealPolicyFile(context, { ...options, file }),
    );
  policy
    .command('show')
    .description('what a sealed policy comes to, and its digest')
    .argument('<sealed-file>')
    .requiredOption('--keystore <file>', 'the encrypted keystore it is for')
    .option(...PASSPHRASE_FILE)
    .option(...NETWORKS_FILE)
    .action((file: string, options: Omit<SealPolicyOptions, 'file' | 'out'>) =>
      showPolicy(context, { ...options, policy: file }),
    );
  program
    .command('approver')
    .description('people who approve payouts')
    .command('init')
    .description('make the key of one approver, on their own machine; prints what goes into the policy')
    .requiredOption('--out <file>', 'where the encrypted key goes')
    .option(...PASSPHRASE_FILE)
    .action((options: { out: string; passphraseFile?: string }) => initApprover(context, options));
}
