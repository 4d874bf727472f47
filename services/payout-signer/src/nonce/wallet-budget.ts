import type { TokenContract } from '@opentill/chain/transfer';
import type { FeePrices, PaymentIntent } from '@opentill/chain/wallet-sender';
import type { OpenNonce } from './store/nonce-facts.ts';

/** What a wallet can still spend, after everything that is on its way out. */
export interface WalletBudget {
  /** Takes the payment and its fees out, when all of it is there; else says what is missing and takes nothing. */
  take(intent: PaymentIntent, gasLimit: bigint): 'TAKEN' | 'NO_TOKENS' | 'NO_GAS';
  /** NO_TOKENS when what is to be paid is not there; undefined when it is. Takes nothing. */
  lacks(intent: PaymentIntent): 'NO_TOKENS' | undefined;
}

/**
 * The wallet's balances less what may still leave it: the transactions that are signed and not among the first `count`, which
 * the chain had when the balances were read, each at its dearest.
 */
export function createBudget(
  { amounts, count }: { readonly amounts: ReadonlyMap<TokenContract | null, bigint>; readonly count: number },
  nonces: readonly OpenNonce[],
  prices: FeePrices,
): WalletBudget {
  const left = new Map(amounts);
  const spend = (contract: TokenContract | null, amount: bigint) =>
    void left.set(contract, (left.get(contract) ?? 0n) - amount);
  for (const { nonce, attempts } of nonces) {
    const newest = attempts.at(-1);
    if (newest === undefined || nonce < count) continue;
    spend(newest.contract, newest.amountBaseUnits);
    spend(null, newest.terms.gasLimit * newest.terms.maxFeePerGas);
  }
  const lacks = ({ contract, amountBaseUnits }: PaymentIntent): 'NO_TOKENS' | undefined =>
    (left.get(contract) ?? 0n) < amountBaseUnits ? 'NO_TOKENS' : undefined;
  return {
    lacks,
    take(intent, gasLimit) {
      const { contract, amountBaseUnits } = intent;
      const fees = gasLimit * prices.maxFeePerGas;
      const native = left.get(null) ?? 0n;
      if (lacks(intent) !== undefined) return 'NO_TOKENS';
      if (native < fees + (contract === null ? amountBaseUnits : 0n)) return 'NO_GAS';
      spend(contract, amountBaseUnits);
      spend(null, fees);
      return 'TAKEN';
    },
  };
}
