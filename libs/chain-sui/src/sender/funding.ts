import type { Funding } from '@opentill/chain/expiring-sender';
import type { CoinReference } from './payment-program.ts';

/** Payer of the gas. GASLESS: the chain moves the coin without gas. */
export type GasMode = 'OWN' | 'SPONSORED' | 'GASLESS';

export interface SuiFunding {
  readonly gas: GasMode;
  readonly gasPriceMist: bigint;
  readonly form: 'COIN' | 'FUNDS';
  readonly withdrawnBaseUnits: bigint;
  readonly coins: readonly CoinReference[];
  readonly hasRest: boolean;
}

export function asFunding(funding: SuiFunding): Funding {
  return funding as unknown as Funding;
}

export function suiFundingIn(funding: Funding | undefined): SuiFunding | undefined {
  return funding as SuiFunding | undefined;
}
