import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import type { FeeElsewhere, OpenAttempt } from './store/attempt-facts.ts';

/** What a wallet can still spend, after everything that is on its way out. */
export interface AttemptBudget {
  /** Takes the payment and its cost out, when all of it is there; else says what is missing and takes nothing. */
  take(intent: PaymentIntent, costBaseUnits: bigint): 'TAKEN' | 'NO_TOKENS' | 'NO_GAS';
  /** NO_TOKENS when what is to be paid is not there; undefined when it is. Takes nothing. */
  lacks(intent: PaymentIntent): 'NO_TOKENS' | undefined;
  /** Whether so much more is there for fees. Takes nothing. */
  hasFee(costBaseUnits: bigint): boolean;
}

export interface AttemptFunds {
  readonly block: { readonly height: number };
  readonly amounts: ReadonlyMap<TokenContract | null, bigint>;
  /** How much of fees is paid for otherwise than in coin. */
  readonly allowanceBaseUnits: bigint;
  /** What of the amounts can't be paid with as it lies there. */
  readonly scattered: ReadonlyMap<TokenContract | null, bigint>;
}

/**
 * The wallet's balances less what may still leave it: the attempts that are open, unless a block that the balances know of holds
 * them, each at its dearest. What the allowance covers of fees is not taken from the coin. What is lent is stake and no coin, but
 * with it leaves what the allowance rests on: while any of it is on its way, and from then on, fees are reckoned in coin.
 * `feesElsewhere`: what others' transactions may take of the coin, or of the allowance, each counted once however often it is named;
 * see ExpiringView.
 */
export function createAttemptBudget(
  { block, amounts, allowanceBaseUnits, scattered }: AttemptFunds,
  attempts: readonly OpenAttempt[],
  feesElsewhere: readonly FeeElsewhere[],
): AttemptBudget {
  const left = new Map(
    [...amounts].map(([contract, amount]) => [contract, amount - (scattered.get(contract) ?? 0n)]),
  );
  const others = new Map(feesElsewhere.map(({ txHash, baseUnits }) => [txHash, baseUnits]));
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
