import { Argument, type Command } from 'commander';
import { needed, option, PASSPHRASE_FILE, type AddCommand } from './add-command.ts';
import { initApprover } from './commands/policy/init-approver.ts';
import { checkPolicy, sealPolicyFile, showPolicy } from './commands/policy/seal-policy.ts';

const FILE = new Argument('<file>', 'the policy as JSON');
const KEYSTORE = needed('--keystore <file>', 'the encrypted keystore it is for');
const NETWORKS_FILE = option(
  '--networks-file <file>',
  'whose tokens the amounts are of; default: NETWORKS_FILE',
);

/** `opentill policy …` and `opentill approver …` */
export function addPolicy(program: Command, add: AddCommand): void {
  const policy = program.command('policy').description('what payout-signer may sign');
  const check = 'what a policy comes to, or all that is wrong with it';
  add(policy, 'check', check, [FILE, NETWORKS_FILE], checkPolicy);
  const out = needed('--out <file>', 'where the sealed policy goes; an older one is replaced');
  const sealed = [FILE, KEYSTORE, out, PASSPHRASE_FILE, NETWORKS_FILE];
  add(policy, 'seal', 'encrypt a policy for the signer of a keystore', sealed, sealPolicyFile);
  const shown = [KEYSTORE, PASSPHRASE_FILE, NETWORKS_FILE];
  add(policy, 'show <sealed-file>', 'what a sealed policy comes to, and its digest', shown, showPolicy);
  const approver = program.command('approver').description('people who approve payouts');
  const init = 'make the key of one approver, on their own machine; prints what goes into the policy';
  const key = needed('--out <file>', 'where the encrypted key goes');
  add(approver, 'init', init, [key, PASSPHRASE_FILE], initApprover);
}
