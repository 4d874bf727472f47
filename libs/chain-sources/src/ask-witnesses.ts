import type { ReadOptions } from '@opentill/chain/chain-reader';
import { mayBeBetterElsewhere } from './may-be-better-elsewhere.ts';
import type { Source } from './source.ts';
import type { Sources } from './sources.ts';

const WITNESSES = 2;

/**
 * Asks two sources the same, and others in the place of those that fail; one answer is enough where no other comes. For what
 * nothing is credited by: of a dispute the caller makes what is safe, and may ask a further one while it says that it is open.
 * Throws the last failure when none answers.
 */
export async function askWitnesses<S extends Source, T>(
  sources: Pick<Sources<S>, 'witnesses' | 'noteFault'>,
  ask: (source: S) => Promise<T>,
  options: ReadOptions,
  isOpen: (said: readonly T[]) => boolean = () => false,
): Promise<readonly T[]> {
  const said: T[] = [];
  const left = [...sources.witnesses()];
  let failure: unknown;
  while ((said.length < WITNESSES || isOpen(said)) && left.length > 0) {
    const asked = left.splice(0, Math.max(1, WITNESSES - said.length));
    const answers = await Promise.allSettled(asked.map(ask));
    for (const [place, answer] of answers.entries()) {
      if (answer.status === 'fulfilled') {
        said.push(answer.value);
        continue;
      }
      failure = answer.reason;
      if (options.signal?.aborted === true || !mayBeBetterElsewhere(failure)) throw failure;
      const source = asked[place];
      if (source !== undefined) sources.noteFault(source, failure);
    }
  }
  if (said.length === 0) throw failure;
  return said;
}
