import type { ReadOptions } from '@opentill/chain/chain-reader';
import { GatewayError } from '@opentill/domain/gateway-error';
import { backoffMs } from '@opentill/runtime/backoff';
import type { ScanPart } from './observe.ts';
import { isHalt } from './scan-error.ts';
import type { Scanning } from './scanning.ts';

const FIRST_MS = 200;
const MAX_MS = 10_000;
const RETRY_AFTER_MS_MAX = 60_000;

/** Failures of one part of the round delay only this part. Uses no timer. */
export function isolateFailure(
  { network, observe, clock }: Pick<Scanning, 'network' | 'observe' | 'clock'>,
  ownPart: ScanPart,
) {
  let failures = 0;
  let dueAtMs = 0;
  /** The pause doubles with each failure in a row, and is at least the provider's Retry-After. */
  const isDue = (): boolean => clock.now().getTime() >= dueAtMs;
  function backOff(error: unknown): void {
    failures += 1;
    const waitMs = Math.max(backoffMs(failures, { firstMs: FIRST_MS, maxMs: MAX_MS }), retryAfterMs(error));
    dueAtMs = clock.now().getTime() + waitMs;
  }
  function failed(error: unknown, part = ownPart): void {
    backOff(error);
    observe.failed(network.chain, part, error, failures);
  }
  function succeeded(): void {
    failures = 0;
  }
  /** Undefined during back-off and after a failure, which is reported. Rethrows aborts and halts. Not for commits. */
  async function run<T>({ signal }: ReadOptions, work: () => Promise<T>): Promise<T | undefined> {
    if (!isDue()) return undefined;
    try {
      const result = await work();
      succeeded();
      return result;
    } catch (error) {
      if (signal?.aborted === true || isHalt(error)) throw error;
      failed(error);
      return undefined;
    }
  }
  const isFailing = (): boolean => failures > 0;
  return { isDue, isFailing, backOff, failed, succeeded, run };
}

export function retryAfterMs(error: unknown): number {
  const asked = error instanceof GatewayError ? error.context['retryAfterMs'] : undefined;
  return typeof asked === 'number' ? Math.min(Math.max(asked, 0), RETRY_AFTER_MS_MAX) : 0;
}
