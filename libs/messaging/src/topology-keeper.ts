import { GatewayError } from '@opentill/domain/gateway-error';
import type { Logger } from '@opentill/runtime/logger';
import { restoreTopology } from './declare-topology.ts';

export interface TopologyKeeper {
  /** A queue, exchange or binding is missing. Returns at once. */
  missing(what: string): void;
  stop(): Promise<void>;
}

export interface TopologyKeeperOptions {
  readonly url: string;
  readonly logger: Logger;
}

/** Between two tries, for any number of links; doubles while parts are missing. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;

/**
 * A broker that lost its data has no queues. Processes whose broker user may configure declare them again; others log
 * an error and retry until an operator runs the set-up.
 */
export function keepTopology({ url, logger }: TopologyKeeperOptions): TopologyKeeper {
  let running: Promise<void> | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  let triedAtMs = -Infinity;
  let stopped = false;
  let aborting = new AbortController();

  async function restore(what: string): Promise<void> {
    aborting = new AbortController();
    try {
      await restoreTopology(url, { signal: aborting.signal });
      logger.warn('broker topology declared again', { missing: what });
    } catch (error) {
      if (stopped) return;
      const refused = error instanceof GatewayError && error.code === 'BROKER_REFUSED';
      const message = refused
        ? 'this broker user may not declare the missing topology: run the set-up'
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
      aborting.abort();
      await running;
    },
  };
}
