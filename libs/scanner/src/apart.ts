import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { HoldOff } from './hold-off.ts';
import type { ScanPart } from './observe.ts';
import type { Scanning } from './scanning.ts';

/** Undefined when the work is held off, or failed; a failure is told and holds it off for a while. */
export type Apart = <T>(
  part: ScanPart,
  holdOff: HoldOff,
  options: ReadOptions,
  work: () => Promise<T>,
) => Promise<T | undefined>;

/**
 * Runs what may fail without the rest: reading alone, never a commit. Its failure holds only itself back; what it plans
 * is for the caller to commit, and never left out.
 */
export function createApart({ network, observe }: Pick<Scanning, 'network' | 'observe'>): Apart {
  return async <T>(
    part: ScanPart,
    holdOff: HoldOff,
    { signal }: ReadOptions,
    work: () => Promise<T>,
  ): Promise<T | undefined> => {
    if (!holdOff.isDue()) return undefined;
    try {
      const result = await work();
      holdOff.succeeded();
      return result;
    } catch (error) {
      if (signal?.aborted === true) throw error;
      observe.failed(network.chain, part, error, holdOff.failed(error));
      return undefined;
    }
  };
}
