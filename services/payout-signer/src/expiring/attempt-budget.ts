import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import type { OpenAttempt } from './attempt-facts.ts';

/** What a wallet can still spend, after everything that is on its way out. */
export interface AttemptBudget {
  /** Takes the payment and its cost out, when all of it is there; else says what is missing and takes nothing. */
  take(intent: PaymentIntent, costBaseUnits: bigint): 'TAKEN' | 'NO_TOKENS' | 'NO_GAS';
  /** NO_TOKENS when what is to be paid is not there; undefined when it is. Takes nothing. */
  lacks(intent: PaymentIntent): 'NO_TOKENS' | undefined;
}

export interface AttemptFunds {
  readonly block: { readonly height: number };
  readonly amounts: ReadonlyMap<TokenContract | null, bigint>;
  /** How much of fees is paid for otherwise than in coin. */
  readonly allowanceBaseUnits: bigint;
}

/**
 * The wallet's balances less what may still leave it: the attempts that are open, unless a block that the balances know of holds
 * them, each at its dearest. What the allowance covers of fees is not taken from the coin.
 */
export function createAttemptBudget(
  { block, amounts, allowanceBaseUnits }: AttemptFunds,
  attempts: readonly OpenAttempt[],
): AttemptBudget {
  const left = new Map(amounts);
  let fees = 0n;
  const amountOf = (contract: TokenContract | null): bigint => left.get(contract) ?? 0n;
  const coinFor = (more: bigint): bigint => {
    const total = fees + more - allowanceBaseUnits;
    return total > 0n ? total : 0n;
  };
  for (const { contract, amountBaseUnits, costBaseUnits, minedHeight } of attempts) {
    if (minedHeight !== null && minedHeight <= block.height) continue;
    left.set(contract, amountOf(contract) - amountBaseUnits);
    fees += costBaseUnits;
  }
  const lacks = ({ contract, amountBaseUnits }: PaymentIntent): 'NO_TOKENS' | undefined =>
    amountOf(contract) < amountBaseUnits ? 'NO_TOKENS' : undefined;
  return {
    lacks,
    take(intent, costBaseUnits) {
      const { contract, amountBaseUnits } = intent;
      if (lacks(intent) !== undefined) return 'NO_TOKENS';
      if (amountOf(null) < coinFor(costBaseUnits) + (contract === null ? amountBaseUnits : 0n))
        return 'NO_GAS';
      left.set(contract, amountOf(contract) - amountBaseUnits);
      fees += costBaseUnits;
      return 'TAKEN';
    },
  };
}
