import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Clock } from '@opentill/runtime/clock';
import type { NewId } from '@opentill/runtime/ids';
import type { Logger } from '@opentill/runtime/logger';
import type { Opentill } from '@opentill/sdk/client';
import type { DevnetWallet } from './devnet-wallet.ts';

export interface ShopDeps {
  readonly port: number;
  readonly host: string;
  /** Name of the developer's machine as this process reaches it; undefined on that machine itself. */
  readonly machineHost: string | undefined;
  readonly networks: readonly NetworkConfig[];
  readonly opentill: Opentill;
  readonly webhookSecret: string;
  readonly wallet: DevnetWallet;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly logger: Logger;
}
