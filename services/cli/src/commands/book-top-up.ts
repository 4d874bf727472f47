import { findToken, type NetworkConfig } from '@opentill/contracts/network-config';
import { readNetworkFile } from '@opentill/contracts/read-network-file';
import type { Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { parseAmount, type AmountProblem } from '@opentill/domain/money';
import { requiredVariable } from '../config.ts';
import type { CliContext, CliErrorCode } from '../context.ts';
import { withOpsDatabase } from '../open-ops-database.ts';
import { bookGasTopUp, bookTopUp } from '../store.ts';

/** Hash of a transaction of each family; canonical where spellings differ, since twice must be once. */
const TXIDS: Readonly<Record<Family, { readonly pattern: RegExp; readonly isHex: boolean }>> = {
  EVM: { pattern: /^0x[0-9a-f]{64}$/i, isHex: true },
  TRON: { pattern: /^[0-9a-f]{64}$/i, isHex: true },
  SUI: { pattern: /^[1-9A-HJ-NP-Za-km-z]{43,44}$/, isHex: false },
};
const AMOUNT_PROBLEMS: Readonly<Record<AmountProblem, string>> = {
  NOT_A_NUMBER: 'write it like 1000 or 1000.50',
  ZERO: 'it is zero',
  TOO_MANY_DECIMALS: 'it has too many decimals',
};

/**
 * Books into the ledger what the operator sent to a hot wallet, so that payouts may draw on it; native coin that is no
 * asset of orders as coin for fees. The same transaction is booked once, however often this runs, and whether or not
 * the scanner saw it.
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
  const file = requiredVariable(context, 'NETWORKS_FILE');
  const networks = await readNetworkFile(file, context.env);
  const network = networks.find((n) => n.chain === options.chain);
  const token = network && assetOf(network, options.symbol);
  if (!network || !token) throw usage(`${options.symbol} on ${options.chain} is not configured in ${file}.`);
  const amount = parseAmount(options.amount, token.decimals);
  const txid = TXIDS[network.family];
  if (!txid.pattern.test(options.txid)) {
    throw usage(`${options.txid} is not the hash of a transaction of ${network.chain}.`);
  }
  if (!amount.ok)
    throw usage(`${options.amount} is not an amount of ${token.symbol}: ${AMOUNT_PROBLEMS[amount.problem]}.`);
  const booked = await withOpsDatabase(context, ({ kysely }) =>
    (token.isCoinForFees ? bookGasTopUp : bookTopUp)(kysely, {
      ref: `${network.chain}:${txid.isHex ? options.txid.toLowerCase() : options.txid}:${token.symbol}`,
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

/** The token, or the native coin where no order can be in it. */
function assetOf(
  network: NetworkConfig,
  symbol: string,
): { readonly symbol: string; readonly decimals: number; readonly isCoinForFees: boolean } | undefined {
  const token = findToken(network, symbol);
  if (token !== undefined) return { symbol: token.symbol, decimals: token.decimals, isCoinForFees: false };
  const { nativeSymbol, nativeDecimals: decimals } = network;
  if (symbol.toUpperCase() !== nativeSymbol.toUpperCase()) return undefined;
  return { symbol: nativeSymbol, decimals, isCoinForFees: true };
}

function usage(message: string): GatewayError<CliErrorCode> {
  return new GatewayError('CLI_USAGE', message, { retryable: false });
}
