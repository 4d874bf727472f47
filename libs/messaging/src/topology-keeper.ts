import { GatewayError } from '@opentill/domain/gateway-error';
import type { Logger } from '@opentill/runtime/logger';
import { restoreTopology } from './declare-topology.ts';

/** Restores the topology when a link finds that something of it is gone. */
export interface TopologyKeeper {
  /** Something that the topology declares does not exist: a queue, an exchange, a binding. Returns at once. */
  missing(what: string): void;
  /** No restoring any more; what is under way is broken off. */
  stop(): Promise<void>;
}

export interface TopologyKeeperOptions {
  readonly url: string;
  readonly logger: Logger;
}

/** Between two tries, however many links miss something; doubles while they go on missing it. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;

/**
 * A broker that lost its data comes back without queues, and nobody would tell it of them until an operator runs the
 * set-up again. So each process whose broker user may configure declares what it misses. A user who may not is told so in
 * the log, and goes on asking: whoever restores that broker's users runs the set-up, which declares the queues.
 */
export function keepTopology({ url, logger }: TopologyKeeperOptions): TopologyKeeper {
  let running: Promise<void> | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  let triedAtMs = -Infinity;
  let stopped = false;
  let breakingOff = new AbortController();

  async function restore(what: string): Promise<void> {
    breakingOff = new AbortController();
    try {
      await restoreTopology(url, { signal: breakingOff.signal });
      logger.warn('broker topology declared again', { missing: what });
    } catch (error) {
      if (stopped) return;
      const refused = error instanceof GatewayError && error.code === 'BROKER_REFUSED';
      const message = refused
        ? 'this broker user may not declare what is missing: run the set-up'
        : 'broker topology not declared';
      logger.error(message, { missing: what, error });
    }
  }

  return {
    missing(what) {
      const sinceMs = performance.now() - triedAtMs;
      if (stopped || running !== undefined || sinceMs < pauseMs) return;
      pauseMs = sinceMs > MAX_PAUSE_MS ? FIRST_PAUSE_MS : Math.min(MAX_PAUSE_MS, pauseMs * 2);
      running = restore(what).finally(() => {
        running = undefined;
        triedAtMs = performance.now();
      });
    },
    async stop() {
      stopped = true;
      breakingOff.abort();
      await running;
    },
  };
}
