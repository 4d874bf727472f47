import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import { contractIn } from '@opentill/chain/parse-contract';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { findToken, type NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain } from '@opentill/domain/chains';

export type CheckedIntent =
  | { readonly kind: 'INTENT'; readonly intent: PaymentIntent }
  | { readonly kind: 'OBSTACLE'; readonly obstacle: 'CONFIG_MISMATCH' | 'MAYBE_PAID' | 'NOT_RESERVED' }
  /** Permanently invalid. `reason` is shown to the merchant. */
  | { readonly kind: 'REFUSED'; readonly reason: string };

/** None of it comes from the database. */
export interface IntentRules {
  readonly network: NetworkConfig;
  readonly codec: AddressCodec;
  readonly ownWallets: readonly Address[];
  /** This process derives the address at `index` of the network's family. */
  readonly isDepositAddress: (address: Address, index: number) => boolean;
  readonly policy: { coldAddressOf(chain: Chain): Address | undefined };
}

/** null: a native coin as configured token. undefined: symbol, decimals or contract differ from the networks file. */
export function configuredContract(
  {
    symbol,
    decimals,
    contract,
  }: { readonly symbol: string; readonly decimals: number; readonly contract: string | null },
  { network, codec }: Pick<IntentRules, 'network' | 'codec'>,
): TokenContract | null | undefined {
  const token = findToken(network, symbol);
  if (token?.decimals !== decimals) return undefined;
  const known = token.contract === null ? null : contractIn(codec, token.contract);
  return known === contract ? known : undefined;
}
