import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isolateFailure } from './isolate-failure.ts';
import type { Scanning } from './scanning.ts';

/** An issuer that pauses or replaces its contract tells the world long before, or cannot tell at all. */
const EVERY_MS = 10 * 60 * 1_000;

/** Asks the contracts of a chain's tokens now and then about themselves, for alarms. */
export function createTokenWatch(scanning: Scanning) {
  const { network, reader, observe, clock } = scanning;
  const isolation = isolateFailure(scanning, 'tokens');
  let askedAtMs = -Infinity;
  /** The question that is under way. */
  let asking: object | undefined;

  async function ask(own: object, options: ReadOptions): Promise<void> {
    const isStale = (): boolean => asking !== own || options.signal?.aborted === true;
    try {
      const warnings = (await reader.tokenWarnings?.(options)) ?? [];
      if (isStale()) return;
      observe.tokensAsked(network.chain, warnings);
      askedAtMs = clock.now().getTime();
      isolation.succeeded();
    } catch (error) {
      if (!isStale()) isolation.failed(error);
    } finally {
      if (asking === own) asking = undefined;
    }
  }

  return {
    /** Asks when it is due, and is not waited for. A failure is reported, and payments are read on. */
    look(options: ReadOptions): void {
      const isDue = clock.now().getTime() - askedAtMs >= EVERY_MS && isolation.isDue();
      if (reader.tokenWarnings === undefined || asking !== undefined || !isDue) return;
      asking = {};
      void ask(asking, options);
    },
    /** The chain was another replica's meanwhile: asks anew, and drops answers that are still under way. */
    forget(): void {
      asking = undefined;
      askedAtMs = -Infinity;
    },
  };
}
