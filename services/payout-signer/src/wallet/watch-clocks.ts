import type { Db } from '@opentill/db/database';
import { kindOf } from '@opentill/contracts/network-kind';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { Clock } from '@opentill/runtime/clock';
import type { Observe } from '../observe/observe.ts';
import { readTimes } from '../store/read-clocks.ts';
import type { Obstacle, WalletKey } from '../payouts/payout-facts.ts';
import { compareClocks, type ReadClocks } from '../policy/compare-clocks.ts';

export function createClockReader(
  db: Db,
  network: Pick<NetworkConfig, 'chain' | 'kind'>,
  clock: Clock,
): ReadClocks {
  return async () => compareClocks(kindOf(network), await readTimes(db, network.chain, clock));
}

/** CHAIN_AHEAD stays, because it keeps payouts from expiring. */
export async function stopForClocks(
  { readClocks, observe, key }: ClockContext,
  pausedBy: Obstacle | undefined,
): Promise<Obstacle | undefined> {
  const difference = await readClocks();
  observe.clocksDiffer(key, difference);
  return difference === undefined || pausedBy === 'CHAIN_AHEAD' ? pausedBy : 'CLOCKS_DIFFER';
}

interface ClockContext {
  readonly readClocks: ReadClocks;
  readonly observe: Pick<Observe, 'clocksDiffer'>;
  readonly key: WalletKey;
}
