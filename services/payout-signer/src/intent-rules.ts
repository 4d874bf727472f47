import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { PolicyJudge } from './policy-port.ts';
import type { Obstacle } from './wallet-facts.ts';

/** What an order asks for, as this process's own configuration understands it. */
export type CheckedIntent =
  | { readonly kind: 'INTENT'; readonly intent: PaymentIntent }
  | { readonly kind: 'OBSTACLE'; readonly obstacle: Obstacle }
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
  readonly policy: Pick<PolicyJudge, 'coldAddressOf'>;
}
