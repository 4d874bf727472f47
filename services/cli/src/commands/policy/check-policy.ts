import { parsePolicy } from '@opentill/wallet/policy/parse-policy';
import type { CliContext } from '../../context.ts';
import { policyLines } from './print-policy.ts';
import { policySurroundings, readPolicyText } from './read-policy-inputs.ts';

/**
 * Says what a policy comes to, or all that is wrong with it. Needs no keys.
 * @throws GatewayError POLICY_INVALID, CLI_USAGE, CONFIG_INVALID, NETWORKS_…
 */
export async function checkPolicy(
  context: CliContext,
  file: string,
  options: { readonly networksFile?: string },
): Promise<void> {
  const surroundings = await policySurroundings(context, options.networksFile);
  const policy = parsePolicy(await readPolicyText(file), surroundings);
  for (const line of policyLines(policy, context.clock.now())) context.print(line);
}
