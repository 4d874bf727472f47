import { readFile } from 'node:fs/promises';
import type { PolicySurroundings } from '@opentill/wallet/policy/parse-policy';
import { readNetworks } from '../../read-networks.ts';
import { cliError, type CliContext } from '../../context.ts';
import { FAMILY_CODECS } from '../../families.ts';

/** The network file that gives a policy's amounts their meaning. Throws CONFIG_INVALID, NETWORKS_…. */
export async function policySurroundings(
  context: CliContext,
  networksFile: string | undefined,
): Promise<PolicySurroundings> {
  return { networks: await readNetworks(context, networksFile), codecs: FAMILY_CODECS };
}

/** The operator's text of a policy. Throws CLI_USAGE. */
export async function readPolicyText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw cliError('CLI_USAGE', `${file} cannot be read.`, { cause });
  });
}
