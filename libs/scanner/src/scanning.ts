import type { ChainReader } from '@opentill/chain/chain-reader';
import type { Clock } from '@opentill/runtime/clock';
import type { ScanNetwork } from './scan-network.ts';
import type { ScanObserver } from './observe.ts';
import type { ScanStore } from './store/scan-store.ts';

export interface Scanning {
  readonly network: ScanNetwork;
  readonly reader: ChainReader;
  readonly store: ScanStore;
  readonly observe: ScanObserver;
  readonly clock: Clock;
}
