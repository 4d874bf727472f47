import type { EventEnvelope } from '@opentill/contracts/event-catalog';
import type { Broker } from '@opentill/messaging/connection';
import { startConsumer, type Consumer } from '@opentill/messaging/consumer';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import type { DepositDrivers } from '../wallet/drive-deposits.ts';
import type { Driver } from '../wallet/drive-wallet.ts';

export type WakingEvent = 'payout.requested' | 'payout.decided' | 'fate.changed';

/** The event has no other effect, so it needs no inbox. The next poll replaces a lost event. */
function wakeDrivers(
  drivers: readonly (Driver | DepositDrivers)[],
  { data }: EventEnvelope<WakingEvent>,
): Promise<void> {
  for (const driver of drivers) {
    const chain = 'key' in driver ? driver.key.chain : driver.chain;
    if (!('chain' in data) || data.chain === chain) driver.wake();
  }
  return Promise.resolve();
}

const WAKING_EVENTS: readonly WakingEvent[] = ['payout.requested', 'payout.decided', 'fate.changed'];
const PREFETCH = 20;
const DRAIN_TIMEOUT_MS = 4_000;

export function startWakingConsumers(
  deps: { readonly broker: Broker; readonly logger: Logger; readonly metrics: Metrics },
  drivers: readonly (Driver | DepositDrivers)[],
): readonly Consumer[] {
  const { broker, logger, metrics } = deps;
  return WAKING_EVENTS.map((type) =>
    startConsumer({
      broker,
      service: 'payout-signer',
      type,
      prefetch: PREFETCH,
      drainTimeoutMs: DRAIN_TIMEOUT_MS,
      logger,
      metrics,
      handle: (envelope) => wakeDrivers(drivers, envelope),
    }),
  );
}
