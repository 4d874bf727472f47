import { parseAmount, type BaseUnits } from '@opentill/domain/money';
import { findToken, type NetworkConfig } from './network-config.ts';

/** `payouts` of a network file as numbers. */
export interface PayoutTerms {
  readonly maxOpenNonces: number;
  readonly minPriorityFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly maxFeePerGas: bigint;
  readonly bumpAfterMs: number;
  /** Undefined: no alarm. */
  readonly lowGasBaseUnits: bigint | undefined;
  /** By the symbol as configured in `tokens`; what is absent has no alarm. */
  readonly lowBalance: ReadonlyMap<string, BaseUnits>;
  /** The same; what is absent has no limit. */
  readonly float: ReadonlyMap<string, BaseUnits>;
}

/** Why a network without `payouts` signs none: for the obstacle of its payouts, which wait and then expire. */
export const PAYOUTS_NOT_CONFIGURED = 'PAYOUTS_NOT_CONFIGURED';

/** How payouts of a network are sent; undefined where its file does not say: then none is signed. */
export function payoutTermsOf(network: NetworkConfig): PayoutTerms | undefined {
  const { payouts } = network;
  if (payouts === undefined) return undefined;
  return {
    maxOpenNonces: payouts.maxOpenNonces,
    minPriorityFeePerGas: BigInt(payouts.minPriorityFeePerGas),
    maxPriorityFeePerGas: BigInt(payouts.maxPriorityFeePerGas),
    maxFeePerGas: BigInt(payouts.maxFeePerGas),
    bumpAfterMs: payouts.bumpAfterSeconds * 1_000,
    lowGasBaseUnits: payouts.lowGasBaseUnits === undefined ? undefined : BigInt(payouts.lowGasBaseUnits),
    lowBalance: amountsBySymbol(network, payouts.lowBalance),
    float: amountsBySymbol(network, payouts.float),
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
