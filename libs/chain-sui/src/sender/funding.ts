import type { Funding } from '@opentill/chain/expiring-sender';
import type { CoinReference } from './payment-program.ts';

/** Who pays the fee of a payment: the wallet itself, a sponsor beside it, or nobody, where the chain lets a coin move free. */
export type GasMode = 'OWN' | 'SPONSORED' | 'GASLESS';

/** What `prepare` found a payment to be made of. */
export interface SuiFunding {
  readonly gas: GasMode;
  /** MIST a unit; 0n where nobody pays. */
  readonly gasPriceMist: bigint;
  readonly form: 'COIN' | 'FUNDS';
  readonly withdrawnBaseUnits: bigint;
  readonly coins: readonly CoinReference[];
  readonly hasRest: boolean;
}

/** Hands it through whoever knows nothing of SUI. */
export function asFunding(funding: SuiFunding): Funding {
  return funding as unknown as Funding;
}

/** What `asFunding` was given. */
export function suiFundingIn(funding: Funding | undefined): SuiFunding | undefined {
  return funding as SuiFunding | undefined;
}
