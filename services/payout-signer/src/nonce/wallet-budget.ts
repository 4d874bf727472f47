import type { TokenContract } from '@opentill/chain/transfer';
import { highestCost, type FeeTerms, type PaymentIntent } from '@opentill/chain/wallet-sender';
import type { OpenNonce } from './store/nonce-facts.ts';

export interface WalletBudget {
  /** Deducts the payment and its fees if both are covered. Otherwise deducts neither and returns what is missing. */
  take(intent: PaymentIntent, terms: FeeTerms): 'TAKEN' | 'NO_TOKENS' | 'NO_GAS';
  lacks(intent: PaymentIntent): 'NO_TOKENS' | undefined;
}

/** Deducts signed transactions at their highest cost, but not the first `count`, which the balances include. */
export function createBudget(
  { amounts, count }: { readonly amounts: ReadonlyMap<TokenContract | null, bigint>; readonly count: number },
  nonces: readonly OpenNonce[],
): WalletBudget {
  const left = new Map(amounts);
  const spend = (contract: TokenContract | null, amount: bigint) =>
    void left.set(contract, (left.get(contract) ?? 0n) - amount);
  for (const { nonce, attempts } of nonces) {
    const newest = attempts.at(-1);
    if (newest === undefined || nonce < count) continue;
    spend(newest.contract, newest.amountBaseUnits);
    spend(null, highestCost(newest.terms));
  }
  const lacks = ({ contract, amountBaseUnits }: PaymentIntent): 'NO_TOKENS' | undefined =>
    (left.get(contract) ?? 0n) < amountBaseUnits ? 'NO_TOKENS' : undefined;
  return {
    lacks,
    take(intent, terms) {
      const { contract, amountBaseUnits } = intent;
      const fees = highestCost(terms);
      const native = left.get(null) ?? 0n;
      if (lacks(intent) !== undefined) return 'NO_TOKENS';
      if (native < fees + (contract === null ? amountBaseUnits : 0n)) return 'NO_GAS';
      spend(contract, amountBaseUnits);
      spend(null, fees);
      return 'TAKEN';
    },
  };
}
