import type { EventEnvelope, EventType } from '@opentill/contracts/event-catalog';
import { startConsumer, type Consumer } from '@opentill/messaging/consumer';
import type { Broker } from '@opentill/messaging/connection';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import { onBlockVerified, type BlockVerifiedDeps } from './handlers/on-block-verified.ts';
import { onFateChanged } from './handlers/on-fate-changed.ts';
import { onOrderDecided } from './handlers/on-order-decided.ts';
import { onPayoutChanged } from './handlers/on-payout-changed.ts';
import { onTransferDetected } from './handlers/on-transfer-detected.ts';
import { onTransferOrphaned } from './handlers/on-transfer-orphaned.ts';

const PREFETCH = 20;
/** Leaves time within STOP_LIMITS_MS.intake to close the channels. */
const DRAIN_TIMEOUT_MS = 4_000;

export interface ConsumerDeps {
  readonly broker: Broker;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export function startConsumers(deps: ConsumerDeps, handlerDeps: BlockVerifiedDeps): readonly Consumer[] {
  const { broker, logger, metrics } = deps;
  const consume = <T extends EventType>(
    type: T,
    handle: (deps: BlockVerifiedDeps, envelope: EventEnvelope<T>) => Promise<void>,
  ): Consumer =>
    startConsumer({
      broker,
      service: 'confirmation-tracker',
      type,
      prefetch: PREFETCH,
      drainTimeoutMs: DRAIN_TIMEOUT_MS,
      logger,
      metrics,
      handle: (envelope) => handle(handlerDeps, envelope),
    });
  return [
    consume('transfer.detected', onTransferDetected),
    consume('transfer.orphaned', onTransferOrphaned),
    consume('block.verified', onBlockVerified),
    consume('payout.changed', onPayoutChanged),
    consume('fate.changed', onFateChanged),
    consume('order.decided', onOrderDecided),
  ];
}
