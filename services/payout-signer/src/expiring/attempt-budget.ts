import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import type { OtherFee, OpenAttempt } from './store/attempt-facts.ts';

export interface AttemptBudget {
  /** Deducts the payment and its cost if both are covered. Otherwise deducts neither and returns what is missing. */
  take(intent: PaymentIntent, costBaseUnits: bigint): 'TAKEN' | 'NO_TOKENS' | 'NO_GAS';
  lacks(intent: PaymentIntent): 'NO_TOKENS' | undefined;
  hasFee(costBaseUnits: bigint): boolean;
}

export interface AttemptFunds {
  readonly block: { readonly height: number };
  readonly amounts: ReadonlyMap<TokenContract | null, bigint>;
  /** Part of the fees that the wallet's own coin does not pay: TRON resources, or the sponsor on SUI. */
  readonly allowanceBaseUnits: bigint;
  /** Part of the amounts that payments cannot use yet (SUI: coins outside the address balance). */
  readonly scattered: ReadonlyMap<TokenContract | null, bigint>;
}

/**
 * Balances minus what may still leave the wallet. Open attempts count at their highest cost, unless the balances
 * include their block. The allowance pays fees before coin does. Lending energy takes away the stake behind the
 * allowance, so fees count in coin from then on and while a loan is under way.
 */
export function createAttemptBudget(
  { block, amounts, allowanceBaseUnits, scattered }: AttemptFunds,
  attempts: readonly OpenAttempt[],
  otherFees: readonly OtherFee[],
): AttemptBudget {
  const left = new Map(
    [...amounts].map(([contract, amount]) => [contract, amount - (scattered.get(contract) ?? 0n)]),
  );
  const others = new Map(otherFees.map(({ txHash, baseUnits }) => [txHash, baseUnits]));
  let fees = [...others.values()].reduce((sum, fee) => sum + fee, 0n);
  let allowance = allowanceBaseUnits;
  const amountOf = (contract: TokenContract | null): bigint => left.get(contract) ?? 0n;
  const coinFor = (more: bigint): bigint => {
    const total = fees + more - allowance;
    return total > 0n ? total : 0n;
  };
  for (const { contract, amountBaseUnits, costBaseUnits, minedHeight, resource } of attempts) {
    if (minedHeight !== null && minedHeight <= block.height) continue;
    if (resource === undefined) left.set(contract, amountOf(contract) - amountBaseUnits);
    if (resource === 'LEND_ENERGY') allowance = 0n;
    fees += costBaseUnits;
  }
  const lacks = ({ contract, amountBaseUnits, resource }: PaymentIntent): 'NO_TOKENS' | undefined =>
    resource === undefined && amountOf(contract) < amountBaseUnits ? 'NO_TOKENS' : undefined;
  return {
    lacks,
    hasFee: (costBaseUnits) => amountOf(null) >= coinFor(costBaseUnits),
    take(intent, costBaseUnits) {
      const { contract, amountBaseUnits, resource } = intent;
      if (lacks(intent) !== undefined) return 'NO_TOKENS';
      const before = allowance;
      if (resource === 'LEND_ENERGY') allowance = 0n;
      const coin = contract === null && resource === undefined ? amountBaseUnits : 0n;
      if (amountOf(null) < coinFor(costBaseUnits) + coin) {
        allowance = before;
        return 'NO_GAS';
      }
      if (resource === undefined) left.set(contract, amountOf(contract) - amountBaseUnits);
      fees += costBaseUnits;
      return 'TAKEN';
    },
  };
}
