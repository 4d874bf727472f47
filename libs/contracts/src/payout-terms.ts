import { parseAmount, type BaseUnits } from '@opentill/domain/money';
import {
  areEndedByEpochs,
  arePaidByGas,
  findToken,
  MAX_PAYOUT_GAS,
  type NetworkConfig,
} from './network-config.ts';
import { EXPIRATION_SECONDS_MAX } from './network-file-schema.ts';

export interface PayoutTerms extends WalletBounds {
  readonly maxOpenNonces: number;
  readonly minPriorityFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly maxFeePerGas: bigint;
  readonly bumpAfterMs: number;
}

export interface TronPayoutTerms extends WalletBounds {
  readonly maxOpenPayouts: number;
  readonly expirationMs: number;
  readonly maxFeeLimitSun: bigint;
  readonly energyMarginPercent: number;
}

export interface SuiPayoutTerms extends WalletBounds {
  readonly maxOpenPayouts: number;
  readonly maxGasBudgetMist: bigint;
  readonly maxGasPriceMist: bigint;
}

export interface WalletBounds {
  /** Base units of the native coin. Undefined: no alarm. */
  readonly lowGasBaseUnits: bigint | undefined;
  /** By the symbol as in `tokens`; absent: no alarm. */
  readonly lowBalance: ReadonlyMap<string, BaseUnits>;
  /** By the symbol as in `tokens`; absent: no limit. */
  readonly float: ReadonlyMap<string, BaseUnits>;
}

/** Undefined if the network's file has no `payouts`: then no payout is signed. */
export function payoutTermsOf(network: NetworkConfig): PayoutTerms | undefined {
  const { payouts } = network;
  if (payouts === undefined || !arePaidByGas(payouts)) return undefined;
  return {
    maxOpenNonces: payouts.maxOpenNonces,
    minPriorityFeePerGas: BigInt(payouts.minPriorityFeePerGas),
    maxPriorityFeePerGas: BigInt(payouts.maxPriorityFeePerGas),
    maxFeePerGas: BigInt(payouts.maxFeePerGas),
    bumpAfterMs: payouts.bumpAfterSeconds * 1_000,
    ...walletBoundsOf(network, payouts),
  };
}

/**
 * Highest data fee of a payout, in base units of the native coin: as much as its gas may cost. 0 where the gas includes
 * all costs.
 */
export function dataFeeCapOf({ dataFee, payouts }: Pick<NetworkConfig, 'dataFee' | 'payouts'>): bigint {
  if (dataFee === undefined || payouts === undefined || !arePaidByGas(payouts)) return 0n;
  return BigInt(payouts.maxGas ?? MAX_PAYOUT_GAS) * BigInt(payouts.maxFeePerGas);
}

/** Lead of the head (one node's word) over the verified cursor, in chain time, up to which payments are signed. */
export const SIGNED_AHEAD_MAX_MS = 600_000;

/** Maximum time from signing to landing of a payment that ends by time, with any network file. */
export const LANDS_WITHIN_MS = EXPIRATION_SECONDS_MAX * 1_000 + SIGNED_AHEAD_MAX_MS;

export function tronPayoutTermsOf(network: NetworkConfig): TronPayoutTerms | undefined {
  const { payouts } = network;
  if (payouts === undefined || arePaidByGas(payouts) || areEndedByEpochs(payouts)) return undefined;
  return {
    maxOpenPayouts: payouts.maxOpenPayouts,
    expirationMs: payouts.expirationSeconds * 1_000,
    maxFeeLimitSun: BigInt(payouts.maxFeeLimitSun),
    energyMarginPercent: payouts.energyMarginPercent,
    ...walletBoundsOf(network, payouts),
  };
}

export function suiPayoutTermsOf(network: NetworkConfig): SuiPayoutTerms | undefined {
  const { payouts } = network;
  if (payouts === undefined || !areEndedByEpochs(payouts)) return undefined;
  return {
    maxOpenPayouts: payouts.maxOpenPayouts,
    maxGasBudgetMist: BigInt(payouts.maxGasBudgetMist),
    maxGasPriceMist: BigInt(payouts.maxGasPriceMist),
    ...walletBoundsOf(network, payouts),
  };
}

function walletBoundsOf(
  network: NetworkConfig,
  { lowGasBaseUnits, lowBalance, float }: NonNullable<NetworkConfig['payouts']>,
): WalletBounds {
  return {
    lowGasBaseUnits: lowGasBaseUnits === undefined ? undefined : BigInt(lowGasBaseUnits),
    lowBalance: amountsBySymbol(network, lowBalance),
    float: amountsBySymbol(network, float),
  };
}

function amountsBySymbol(
  network: NetworkConfig,
  amounts: Readonly<Record<string, string>> = {},
): ReadonlyMap<string, BaseUnits> {
  return new Map(
    Object.entries(amounts).flatMap(([symbol, text]) => {
      const token = findToken(network, symbol);
      const amount = token === undefined ? undefined : parseAmount(text, token.decimals);
      return token === undefined || amount === undefined || !amount.ok ? [] : [[token.symbol, amount.value]];
    }),
  );
}
