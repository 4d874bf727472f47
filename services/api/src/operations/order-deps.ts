import type { NewId } from '@opentill/runtime/ids';
import type { Clock } from '@opentill/runtime/clock';
import type { AssetBook } from '../asset-book.ts';
import type { ChainReadiness } from '../chain-readiness.ts';
import type { DepositAddressPool } from '../deposit-address-pool.ts';
import type { Observe } from '../observe.ts';
import type { Store } from '../store/create-store.ts';

export interface OrderDeps {
  readonly store: Store;
  readonly assets: AssetBook;
  readonly chains: ChainReadiness;
  readonly pool: DepositAddressPool;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly observe: Pick<Observe, 'orderCreated' | 'hotWalletUnknown'>;
  readonly checkoutBaseUrl: string;
  /** Hot wallets per family in the public key file. Payouts leave from the first. */
  readonly hotWallets: ReadonlyMap<string, readonly string[]>;
  /** Call it right after a commit. */
  readonly wakeRelay: () => void;
}
