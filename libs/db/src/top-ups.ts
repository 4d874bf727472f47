import { sql } from 'kysely';
import { findToken, type NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain, Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { parseAmount, type AmountProblem } from '@opentill/domain/money';
import type { Db } from './database.ts';

/**
 * - `TOP_UP_INVALID`: what is to be booked is no top-up of the network; the message says why. Permanent.
 * - `TOP_UP_DIFFERS`: the transaction is booked with another amount. Permanent.
 */
export type TopUpErrorCode = 'TOP_UP_INVALID' | 'TOP_UP_DIFFERS';

/** What was sent to a hot wallet, as the ledger books it. */
export interface TopUp {
  /** The same for the same transaction, however somebody spells its hash. */
  readonly ref: string;
  readonly chain: Chain;
  readonly symbol: string;
  readonly amountBaseUnits: bigint;
  /** Native coin that is no asset of orders: it pays fees. */
  readonly isCoinForFees: boolean;
}

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
 * Reads what an operator says he sent to a hot wallet; the amount in display units.
 * @throws GatewayError TOP_UP_INVALID
 */
export function readTopUp(
  network: NetworkConfig,
  told: { readonly symbol: string; readonly amount: string; readonly txid: string },
): TopUp {
  const { chain, family } = network;
  const asset = assetOf(network, told.symbol);
  if (asset === undefined) throw invalid(`${told.symbol} on ${chain} is not configured.`);
  const { pattern, isHex } = TXIDS[family];
  if (!pattern.test(told.txid)) throw invalid(`${told.txid} is not the hash of a transaction of ${chain}.`);
  const amount = parseAmount(told.amount, asset.decimals);
  if (!amount.ok) {
    throw invalid(`${told.amount} is not an amount of ${asset.symbol}: ${AMOUNT_PROBLEMS[amount.problem]}.`);
  }
  const { symbol, isCoinForFees } = asset;
  const ref = `${chain}:${isHex ? told.txid.toLowerCase() : told.txid}:${symbol}`;
  return { ref, chain, symbol, amountBaseUnits: amount.value, isCoinForFees };
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

function invalid(message: string): GatewayError<TopUpErrorCode> {
  return new GatewayError('TOP_UP_INVALID', message, { retryable: false });
}

/**
 * Books a top-up: tokens for payouts to draw on, or coin for fees. For the role of ops.
 * @returns false when this reference was booked before
 * @throws GatewayError TOP_UP_DIFFERS
 */
export async function bookTopUp(db: Db, topUp: TopUp): Promise<boolean> {
  const { ref, chain, symbol, amountBaseUnits, isCoinForFees } = topUp;
  const book = sql.ref(isCoinForFees ? 'book_gas_top_up' : 'book_top_up');
  try {
    const { rows } = await sql<{ booked: boolean }>`
      select ${book}(${ref}, ${chain}, ${symbol}, ${amountBaseUnits.toString()}::numeric) as booked`.execute(
      db,
    );
    return rows[0]?.booked ?? false;
  } catch (error) {
    if (!(error instanceof GatewayError) || !/booked with another amount/.test(error.message)) throw error;
    throw new GatewayError<TopUpErrorCode>('TOP_UP_DIFFERS', `${ref} is booked with another amount.`, {
      retryable: false,
      cause: error,
    });
  }
}
