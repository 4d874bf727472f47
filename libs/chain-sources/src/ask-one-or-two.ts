import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isFailoverError } from './is-failover-error.ts';
import type { Source } from './source.ts';
import type { Sources } from './sources.ts';

const WANTED = 2;

/**
 * Replaces sources that fail; one answer is enough if no other comes. For questions that credit no money: the caller
 * resolves a dispute conservatively, and `isOpen` may request a further answer.
 */
export async function askOneOrTwo<S extends Source, T>(
  sources: Pick<Sources<S>, 'quorumSources' | 'noteFault'>,
  ask: (source: S) => Promise<T>,
  options: ReadOptions,
  isOpen: (received: readonly T[]) => boolean = () => false,
): Promise<readonly T[]> {
  const received: T[] = [];
  const left = [...sources.quorumSources()];
  let failure: unknown;
  while ((received.length < WANTED || isOpen(received)) && left.length > 0) {
    const asked = left.splice(0, Math.max(1, WANTED - received.length));
    const answers = await Promise.allSettled(asked.map(ask));
    for (const [place, answer] of answers.entries()) {
      if (answer.status === 'fulfilled') {
        received.push(answer.value);
        continue;
      }
      failure = answer.reason;
      if (options.signal?.aborted === true || !isFailoverError(failure)) throw failure;
      const source = asked[place];
      if (source !== undefined) sources.noteFault(source, failure);
    }
  }
  if (received.length === 0) throw failure;
  return received;
}
