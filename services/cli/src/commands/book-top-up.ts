import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { writeAuditOfDatabaseUser } from '@opentill/db/operators';
import { bookTopUp, readTopUp } from '@opentill/db/top-ups';
import { GatewayError } from '@opentill/domain/gateway-error';
import { requiredVariable } from '../config.ts';
import type { CliContext, CliErrorCode } from '../context.ts';
import { withOpsDatabase } from '../open-ops-database.ts';

/**
 * Books into the ledger what the operator sent to a hot wallet, so that payouts may draw on it; native coin that is no
 * asset of orders as coin for fees. The same transaction is booked once, however often this runs, and whether or not
 * the scanner saw it. Goes to the database itself, because a deployment is funded before it runs.
 * @throws GatewayError CLI_USAGE, TOP_UP_INVALID, TOP_UP_DIFFERS
 */
export async function recordTopUp(
  context: CliContext,
  options: {
    readonly chain: string;
    readonly symbol: string;
    readonly amount: string;
    readonly txid: string;
  },
): Promise<void> {
  const file = requiredVariable(context, 'NETWORKS_FILE');
  const networks = await readNetworkFile(file, context.env);
  const network = networks.find((n) => n.chain === options.chain);
  if (network === undefined) {
    throw new GatewayError<CliErrorCode>(
      'CLI_USAGE',
      `${options.symbol} on ${options.chain} is not configured in ${file}.`,
      { retryable: false },
    );
  }
  const topUp = readTopUp(network, options);
  const booked = await withOpsDatabase(context, ({ kysely }) =>
    kysely.transaction().execute(async (tx) => {
      const isNew = await bookTopUp(tx, topUp);
      const { chain, symbol, amount, txid } = options;
      const details = { chain, symbol, amount, txid, booked: isNew };
      await writeAuditOfDatabaseUser(tx, { action: 'bookTopUp', subject: chain, details });
      return isNew;
    }),
  );
  context.print(
    booked
      ? `Booked ${options.amount} ${topUp.symbol} on ${topUp.chain}.`
      : 'Booked before; nothing changed.',
  );
}
