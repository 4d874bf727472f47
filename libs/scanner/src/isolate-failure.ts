import type { ReadOptions } from '@opentill/chain/chain-reader';
import { GatewayError } from '@opentill/domain/gateway-error';
import { backoffMs } from '@opentill/runtime/backoff';
import type { ScanPart } from './observe.ts';
import type { Scanning } from './scanning.ts';

const FIRST_MS = 200;
const MAX_MS = 10_000;
/** Limit of the pause that a provider may ask for. */
const RETRY_AFTER_MS_MAX = 60_000;

/** Isolates one part of the round: its failures hold back only itself. It has no timer of its own. */
export function isolateFailure(
  { network, observe, clock }: Pick<Scanning, 'network' | 'observe' | 'clock'>,
  ownPart: ScanPart,
) {
  let failures = 0;
  let dueAtMs = 0;
  /** False for a while after a failure: twice as long after each one in a row, or as long as the error says. */
  const isDue = (): boolean => clock.now().getTime() >= dueAtMs;
  /** Backs off without a report. */
  function backOff(error: unknown): void {
    failures += 1;
    const waitMs = Math.max(backoffMs(failures, { firstMs: FIRST_MS, maxMs: MAX_MS }), retryAfterMs(error));
    dueAtMs = clock.now().getTime() + waitMs;
  }
  /** Backs off, and reports the failure, as one of this part unless another is named. */
  function failed(error: unknown, part = ownPart): void {
    backOff(error);
    observe.failed(network.chain, part, error, failures);
  }
  function succeeded(): void {
    failures = 0;
  }
  /** Reads, if due. Undefined when it backs off, or failed, which is reported. An abort is passed on. Never for a commit. */
  async function run<T>({ signal }: ReadOptions, work: () => Promise<T>): Promise<T | undefined> {
    if (!isDue()) return undefined;
    try {
      const result = await work();
      succeeded();
      return result;
    } catch (error) {
      if (signal?.aborted === true) throw error;
      failed(error);
      return undefined;
    }
  }
  return { isDue, backOff, failed, succeeded, run };
}

/** How long the provider asked to be left alone, in milliseconds; 0 when it did not. */
export function retryAfterMs(error: unknown): number {
  const asked = error instanceof GatewayError ? error.context['retryAfterMs'] : undefined;
  return typeof asked === 'number' ? Math.min(Math.max(asked, 0), RETRY_AFTER_MS_MAX) : 0;
}
