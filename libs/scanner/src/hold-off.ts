import { GatewayError } from '@opentill/domain/gateway-error';
import { backoffMs } from '@opentill/runtime/backoff';
import type { Clock } from '@opentill/runtime/clock';

const FIRST_MS = 200;
const MAX_MS = 10_000;
/** No provider keeps us away longer, whatever it asks for. */
const RETRY_AFTER_MS_MAX = 60_000;

/** Keeps one kind of work back after failures, without a timer of its own. */
export interface HoldOff {
  isDue(): boolean;
  /** The number of failures in a row, this one included. */
  failed(error: unknown): number;
  succeeded(): void;
}

/** Waits twice as long after each failure in a row, or as long as the error says. */
export function createHoldOff(clock: Clock): HoldOff {
  let failures = 0;
  let dueAtMs = 0;
  return {
    isDue: () => clock.now().getTime() >= dueAtMs,
    failed(error) {
      failures += 1;
      const waitMs = Math.max(backoffMs(failures, { firstMs: FIRST_MS, maxMs: MAX_MS }), retryAfterMs(error));
      dueAtMs = clock.now().getTime() + waitMs;
      return failures;
    },
    succeeded() {
      failures = 0;
    },
  };
}

/** How long the provider asked to be left alone, in milliseconds; 0 when it did not. */
export function retryAfterMs(error: unknown): number {
  const asked = error instanceof GatewayError ? error.context['retryAfterMs'] : undefined;
  return typeof asked === 'number' ? Math.min(Math.max(asked, 0), RETRY_AFTER_MS_MAX) : 0;
}
