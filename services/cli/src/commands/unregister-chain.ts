import { unregisterChain } from '@opentill/db/unregister-chain';
import { isChain, presetOf } from '@opentill/domain/chains';
import type { Reason } from '../add-command.ts';
import { cliError, notFound, usage, type CliContext } from '../context.ts';
import { withOwnerDatabase } from '../open-database.ts';

/**
 * For a mistyped name, chain id or kind.
 * @throws GatewayError CLI_USAGE, NOT_FOUND, CHAIN_IN_USE
 */
export async function removeChain(context: CliContext, name: string, { reason }: Reason): Promise<void> {
  if (!isChain(name)) throw usage(`${name} is not the name of a chain.`);
  if (presetOf(name) !== undefined) throw usage(`${name} is a preset: its identity is part of this version.`);
  const done = await withOwnerDatabase(context, (db) => unregisterChain(db, name, reason));
  if (done.kind === 'UNKNOWN')
    throw notFound(`${name} is not registered. opentill chain list shows the chains.`);
  if (done.kind === 'SCANNED')
    throw cliError(
      'CHAIN_IN_USE',
      `${done.holder} scans ${name}. Disable ${name} in the networks file, restart scanner-evm, and repeat.`,
    );
  if (done.kind === 'USED')
    throw cliError(
      'CHAIN_IN_USE',
      `${name} keeps its identity: the database has rows of it in ${done.tables.join(', ')}. Add the other chain under another name.`,
    );
  context.print(`${name} (chain id ${done.chainId}) is no longer registered.`);
  context.print('Next: correct its entry in the networks file, run opentill setup and restart the services.');
}
