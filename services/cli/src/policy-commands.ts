import { Argument, type Command } from 'commander';
import { needed, option, PASSPHRASE_FILE, type AddCommand } from './add-command.ts';
import { initApprover } from './commands/policy/init-approver.ts';
import { checkPolicy, sealPolicyFile, showPolicy } from './commands/policy/seal-policy.ts';

const FILE = new Argument('<file>', 'the policy as JSON');
const KEYSTORE = needed('--keystore <file>', 'the encrypted keystore that it is for');
const NETWORKS_FILE = option(
  '--networks-file <file>',
  'network file with the tokens of the amounts; default: NETWORKS_FILE',
);

export function addPolicy(program: Command, add: AddCommand): void {
  const policy = program.command('policy').description('limits on what payout-signer signs');
  const check = 'describe a policy in words, or list all its errors';
  add(policy, 'check', check, [FILE, NETWORKS_FILE], checkPolicy);
  const out = needed('--out <file>', 'where to write the sealed policy; replaces an older one');
  const sealed = [FILE, KEYSTORE, out, PASSPHRASE_FILE, NETWORKS_FILE];
  add(policy, 'seal', 'encrypt a policy for the signer of a keystore', sealed, sealPolicyFile);
  const shown = [KEYSTORE, PASSPHRASE_FILE, NETWORKS_FILE];
  add(policy, 'show <sealed-file>', 'describe a sealed policy in words, with its digest', shown, showPolicy);
  const approver = program.command('approver').description('people who approve payouts');
  const init = 'create an approver’s key on their own machine; prints the line for the policy';
  const key = needed('--out <file>', 'where to write the encrypted key');
  add(approver, 'init', init, [key, PASSPHRASE_FILE], initApprover);
}
