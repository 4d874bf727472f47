import { readFile } from 'node:fs/promises';
import { findToken, parseNetworkFile } from '@opentill/contracts/network-config';
import { GatewayError } from '@opentill/domain/gateway-error';
import { parseAmount } from '@opentill/domain/money';
import type { CliContext, CliErrorCode } from '../context.ts';
import { required, withOpsDatabase } from '../open-ops-database.ts';
import { bookTopUp } from '../store.ts';

/**
 * Books into the ledger what the operator sent to a hot wallet, so that payouts may draw on it. The same transaction
 * is booked once, however often this runs.
 * @throws GatewayError CLI_USAGE
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
  const file = required(context, 'NETWORKS_FILE');
  const network = parseNetworkFile(await readFile(file, 'utf8'), file).find((n) => n.chain === options.chain);
  const token = network && findToken(network, options.symbol);
  if (!network || !token) throw usage(`${options.symbol} on ${options.chain} is not configured in ${file}.`);
  const amount = parseAmount(options.amount, token.decimals);
  if (!amount.ok) throw usage(`${options.amount} is not an amount of ${token.symbol}: ${amount.problem}.`);
  const booked = await withOpsDatabase(context, ({ kysely }) =>
    bookTopUp(kysely, {
      ref: `${network.chain}:${options.txid}:${token.symbol}`,
      chain: network.chain,
      symbol: token.symbol,
      amountBaseUnits: amount.value,
    }),
  );
  context.print(
    booked
      ? `Booked ${options.amount} ${token.symbol} on ${network.chain}.`
      : 'Booked before; nothing changed.',
  );
}

function usage(message: string): GatewayError<CliErrorCode> {
  return new GatewayError('CLI_USAGE', message, { retryable: false });
}
