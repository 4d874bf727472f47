import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import { contractIn } from '@opentill/chain/parse-contract';
import type { TokenContract } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { findToken, type NetworkConfig } from '@opentill/contracts/network-config';
import type { Chain } from '@opentill/domain/chains';

/** What an order asks for, as this process's own configuration understands it. */
export type CheckedIntent =
  | { readonly kind: 'INTENT'; readonly intent: PaymentIntent }
  | { readonly kind: 'OBSTACLE'; readonly obstacle: 'CONFIG_MISMATCH' | 'MAYBE_PAID' | 'NOT_RESERVED' }
  /** It can never be right. `reason` is what the merchant is told. */
  | { readonly kind: 'REFUSED'; readonly reason: string };

/** What the checks go by: nothing of it comes from the database. */
export interface IntentRules {
  readonly network: NetworkConfig;
  readonly codec: AddressCodec;
  /** All hot wallets that this process has the keys of. */
  readonly ownWallets: readonly Address[];
  /** Whether this is deposit address `index` of the network's family, by this process's own derivation. */
  readonly isDepositAddress: (address: Address, index: number) => boolean;
  readonly policy: { coldAddressOf(chain: Chain): Address | undefined };
}

/**
 * The contract of what is to be paid, null for a native coin that is a token of the network. Undefined where symbol, decimals
 * or contract are not what the network file says: the row is not believed.
 */
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
