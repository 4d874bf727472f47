import type { AddressCodec } from '@opentill/chain/address-codec';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import type { WalletSender } from '@opentill/chain/wallet-sender';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { PayoutTerms, WalletBounds } from '@opentill/contracts/payout-terms';

export interface OfNetwork {
  readonly network: NetworkConfig;
  readonly codec: AddressCodec;
}

export interface NoncePaying extends OfNetwork {
  readonly kind: 'NONCES';
  readonly terms: PayoutTerms;
  readonly sender: WalletSender;
  readonly reader: Pick<ChainReader, 'readFates'>;
}

export interface ExpiringPaying extends OfNetwork {
  readonly kind: 'EXPIRING';
  readonly terms: WalletBounds & { readonly maxOpenPayouts: number };
  readonly sender: ExpiringSender;
}

export type PayingNetwork = NoncePaying | ExpiringPaying;
