import { parseAmount, type BaseUnits } from '@opentill/domain/money';
import { areEndedByEpochs, arePaidByGas, findToken, type NetworkConfig } from './network-config.ts';
import { EXPIRATION_SECONDS_MAX } from './network-file-schema.ts';

/** `payouts` of an EVM network's file as numbers. */
export interface PayoutTerms extends WalletBounds {
  readonly maxOpenNonces: number;
  readonly minPriorityFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly maxFeePerGas: bigint;
  readonly bumpAfterMs: number;
}

/** `payouts` of a TRON network's file as numbers. */
export interface TronPayoutTerms extends WalletBounds {
  readonly maxOpenPayouts: number;
  readonly expirationMs: number;
  readonly maxFeeLimitSun: bigint;
  readonly energyMarginPercent: number;
}

/** `payouts` of a SUI network's file as numbers. */
export interface SuiPayoutTerms extends WalletBounds {
  readonly maxOpenPayouts: number;
  readonly maxGasBudgetMist: bigint;
  readonly maxGasPriceMist: bigint;
}

/** Between what balances a hot wallet is as it should be. */
export interface WalletBounds {
  /** Undefined: no alarm. */
  readonly lowGasBaseUnits: bigint | undefined;
  /** By the symbol as configured in `tokens`; what is absent has no alarm. */
  readonly lowBalance: ReadonlyMap<string, BaseUnits>;
  /** The same; what is absent has no limit. */
  readonly float: ReadonlyMap<string, BaseUnits>;
}

/** How payouts of an EVM network are sent; undefined where its file does not say: then none is signed. */
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
 * No payment is signed by a head that is further ahead of what is verified, in the chain's own time: what is verified is not one
 * node's word.
 */
export const SIGNED_AHEAD_MAX_MS = 600_000;

/** No payment that ends by time may land later than this after it was signed, whatever the network file said then. */
export const LANDS_WITHIN_MS = EXPIRATION_SECONDS_MAX * 1_000 + SIGNED_AHEAD_MAX_MS;

/** The same of a TRON network. */
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

/** The same of a SUI network. */
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
