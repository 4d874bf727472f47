import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { Clock } from '@opentill/runtime/clock';
import { createHoldOff } from './hold-off.ts';
import type { Scanning } from './scanning.ts';

/** Asks the contracts of a chain's tokens now and then what they say of themselves, for alarms. */
export interface TokenWatch {
  /** Asks when it is due, and is not waited for; a failure is told, and payments are read on. */
  look(options: ReadOptions): void;
  /** Asks anew: the chain was another replica's meanwhile. What is still being answered is of before, and told no more. */
  forget(): void;
}

/** An issuer that pauses or replaces its contract tells the world long before, or cannot tell at all. */
const EVERY_MS = 10 * 60 * 1_000;

export function createTokenWatch({
  network: { chain },
  reader,
  observe,
  clock,
}: Pick<Scanning, 'network' | 'reader' | 'observe'> & { readonly clock: Clock }): TokenWatch {
  const holdOff = createHoldOff(clock);
  let askedAtMs = -Infinity;
  /** The question that is under way. */
  let asking: object | undefined;

  async function ask(own: object, options: ReadOptions): Promise<void> {
    const isStale = (): boolean => asking !== own || options.signal?.aborted === true;
    try {
      const warnings = (await reader.tokenWarnings?.(options)) ?? [];
      if (isStale()) return;
      observe.tokensAsked(chain, warnings);
      askedAtMs = clock.now().getTime();
      holdOff.succeeded();
    } catch (error) {
      if (!isStale()) observe.failed(chain, 'tokens', error, holdOff.failed(error));
    } finally {
      if (asking === own) asking = undefined;
    }
  }

  return {
    look(options) {
      const isDue = clock.now().getTime() - askedAtMs >= EVERY_MS && holdOff.isDue();
      if (reader.tokenWarnings === undefined || asking !== undefined || !isDue) return;
      asking = {};
      void ask(asking, options);
    },
    forget() {
      asking = undefined;
      askedAtMs = -Infinity;
    },
  };
}
