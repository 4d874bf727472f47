import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isolateFailure } from './isolate-failure.ts';
import type { Scanning } from './scanning.ts';

/** Issuers announce a pause or replacement long in advance, or not at all, so a long interval suffices. */
const EVERY_MS = 10 * 60 * 1_000;

export function createTokenWatch(scanning: Scanning) {
  const { network, reader, observe, clock } = scanning;
  const isolation = isolateFailure(scanning, 'tokens');
  let askedAtMs = -Infinity;
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
    /** Does not wait for the answer. A failure is reported and delays no payment. */
    look(options: ReadOptions): void {
      const isDue = clock.now().getTime() - askedAtMs >= EVERY_MS && isolation.isDue();
      if (reader.tokenWarnings === undefined || asking !== undefined || !isDue) return;
      asking = {};
      void ask(asking, options);
    },
    /** Drops pending answers after another replica had the chain. */
    forget(): void {
      asking = undefined;
      askedAtMs = -Infinity;
    },
  };
}
