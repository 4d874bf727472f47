import { sql } from 'kysely';
import { findToken, type NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain, Family } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { parseAmount, type AmountProblem } from '@opentill/domain/money';
import type { Db } from './database.ts';

/**
 * All are permanent. `TOP_UP_DIFFERS`: the transaction is booked with another amount. `TOP_UP_NOT_COVERED`: the chain
 * lacks the amount, or has not shown it at a verified block yet.
 */
export type TopUpErrorCode = 'TOP_UP_INVALID' | 'TOP_UP_DIFFERS' | 'TOP_UP_NOT_COVERED';

export interface TopUp {
  /** Equal for the same transaction in any spelling of its hash. */
  readonly ref: string;
  readonly chain: Chain;
  readonly symbol: string;
  readonly amountBaseUnits: bigint;
  /** Native coin that only pays fees, because it is not an asset of orders. */
  readonly isCoinForFees: boolean;
}

/** Hex is lower-cased, so that a transaction in two spellings is booked once. */
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

/** The amount is in display units. @throws GatewayError TOP_UP_INVALID */
export function readTopUp(
  network: NetworkConfig,
  request: { readonly symbol: string; readonly amount: string; readonly txid: string },
): TopUp {
  const { chain, family } = network;
  const asset = assetOf(network, request.symbol);
  if (asset === undefined) throw invalid(`${request.symbol} on ${chain} is not configured.`);
  const { pattern, isHex } = TXIDS[family];
  if (!pattern.test(request.txid))
    throw invalid(`${request.txid} is not the hash of a transaction of ${chain}.`);
  const amount = parseAmount(request.amount, asset.decimals);
  if (!amount.ok) {
    throw invalid(
      `${request.amount} is not an amount of ${asset.symbol}: ${AMOUNT_PROBLEMS[amount.problem]}.`,
    );
  }
  const { symbol, isCoinForFees } = asset;
  const ref = `${chain}:${isHex ? request.txid.toLowerCase() : request.txid}:${symbol}`;
  return { ref, chain, symbol, amountBaseUnits: amount.value, isCoinForFees };
}

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
 * Does not check the chain: only for local chains, which the booking program funds itself. Role: ops.
 * @returns false if this reference was booked before; @throws GatewayError TOP_UP_DIFFERS
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
    throw differs(error, ref);
  }
}

function differs(error: unknown, ref: string): unknown {
  if (!(error instanceof GatewayError) || !/booked with another amount/.test(error.message)) return error;
  return new GatewayError<TopUpErrorCode>('TOP_UP_DIFFERS', `${ref} is booked with another amount.`, {
    retryable: false,
    cause: error,
  });
}

const kindOf = ({ isCoinForFees }: TopUp) => (isCoinForFees ? 'GAS_TOP_UP' : 'TOP_UP');

/**
 * The signer's balances at verified blocks must cover it. Role: ops.
 * @returns false if it is booked already; @throws GatewayError TOP_UP_DIFFERS, TOP_UP_NOT_COVERED
 */
export async function bookCoveredTopUp(db: Db, topUp: TopUp): Promise<boolean> {
  const { ref, chain, symbol, amountBaseUnits } = topUp;
  interface Checked {
    readonly outcome: 'BOOKED' | 'BEFORE' | 'SEEN' | 'NO_BALANCE' | 'NOT_COVERED';
    readonly height: number | null;
    readonly missing: bigint | null;
  }
  const { rows } = await sql<Checked>`
    select outcome, height, missing from book_covered_top_up(${kindOf(topUp)}, ${ref}, ${chain}, ${symbol},
      ${amountBaseUnits.toString()}::numeric)`
    .execute(db)
    .catch((error: unknown) => Promise.reject(differs(error, ref)));
  const { outcome, height, missing } = rows[0] ?? { outcome: 'NO_BALANCE', height: null, missing: null };
  switch (outcome) {
    case 'BOOKED':
      return true;
    case 'BEFORE':
      return false;
    case 'SEEN':
      throw notCovered(
        `The scanner has seen ${ref} and books it when its block is verified. No action is needed.`,
      );
    case 'NO_BALANCE':
      throw notCovered(
        `The signer has not yet read the ${symbol} balance of a hot wallet on ${chain} at a verified block. Wait until it has, or book it with opentill wallet book-top-up, which asks the nodes.`,
      );
    case 'NOT_COVERED':
      throw notCovered(
        `At block ${height} the hot wallets on ${chain} lack ${missing} base units of ${symbol} for this top-up and the ledger's balance. Check the transaction, or wait until its block is verified.`,
      );
  }
}

/**
 * The caller measured the surplus at block `asOfHeight`. `owner` is ownerBalance() before the measurement; if another
 * booking changed it since, the outcome is MOVED. Without `measured`, only reports if it is already booked (BEFORE).
 * Role: ops. @throws GatewayError TOP_UP_DIFFERS
 */
export async function bookMeasuredTopUp(
  db: Db,
  topUp: TopUp,
  measured?: { readonly asOfHeight: number; readonly owner: bigint },
): Promise<'BOOKED' | 'BEFORE' | 'MOVED'> {
  const { ref, chain, symbol, amountBaseUnits } = topUp;
  const { rows } = await sql<{ outcome: 'BOOKED' | 'BEFORE' | 'MOVED' }>`
    select book_measured_top_up(${kindOf(topUp)}, ${ref}, ${chain}, ${symbol}, ${amountBaseUnits.toString()}::numeric,
      ${measured?.asOfHeight ?? null}::int8, ${measured?.owner.toString() ?? null}::numeric) as outcome`
    .execute(db)
    .catch((error: unknown) => Promise.reject(differs(error, ref)));
  return rows[0]?.outcome ?? 'MOVED';
}

/** The operator's contribution; negative. Every booking and reversal of a top-up changes it. */
export async function ownerBalance(db: Db, chain: string, symbol: string): Promise<bigint> {
  const { rows } = await sql<{ balance: bigint }>`
    select balance from ledger_account where kind = 'OWNER' and chain = ${chain} and symbol = ${symbol}`.execute(
    db,
  );
  return rows[0]?.balance ?? 0n;
}

function notCovered(message: string): GatewayError<TopUpErrorCode> {
  return new GatewayError('TOP_UP_NOT_COVERED', message, { retryable: false });
}

export interface TopUpReversal {
  readonly outcome: 'REVERSED' | 'BEFORE' | 'SEEN' | 'NOT_FOUND' | 'UNCOVERED';
  readonly chain: Chain | null;
  readonly symbol: string | null;
  /** Reversed amount; for other outcomes the amount that would have been reversed. */
  readonly amount: bigint | null;
}

/** Reverses the part of a booking by hand that matches no transfer. Idempotent. Role: ops. */
export async function reverseTopUp(db: Db, ref: string): Promise<TopUpReversal> {
  const { rows } =
    await sql<TopUpReversal>`select outcome, chain, symbol, amount from reverse_top_up(${ref})`.execute(db);
  return rows[0] ?? { outcome: 'NOT_FOUND', chain: null, symbol: null, amount: null };
}
