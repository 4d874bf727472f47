import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import { askOneOrTwo } from '@opentill/chain-sources/ask-one-or-two';
import type { SuiSource, SuiSources } from '../sui-sources.ts';

/** They serve history only (archives). */
const WITHOUT_STATE = new WeakSet<SuiSource>();

export interface StateAnswers<T> {
  readonly answers: readonly T[];
  readonly needed: 1 | 2;
}

/**
 * askOneOrTwo for coins, balances and simulations. Requires two answers if at least two configured sources can serve
 * state. A source that is down counts as one; otherwise its failure would let a single answer pass.
 */
export async function askStateWitnesses<T>(
  sources: Pick<SuiSources, 'all' | 'quorumSources' | 'noteFault'>,
  ask: (source: SuiSource) => Promise<T>,
  options: ReadOptions,
): Promise<StateAnswers<T>> {
  const answers = await askOneOrTwo(
    sources,
    async (source: SuiSource) => {
      try {
        const answer = await ask(source);
        WITHOUT_STATE.delete(source);
        return answer;
      } catch (error) {
        if (isReaderError(error, 'RPC_METHOD_MISSING')) WITHOUT_STATE.add(source);
        throw error;
      }
    },
    options,
  );
  const able = sources.all().filter((source) => !WITHOUT_STATE.has(source));
  return { answers, needed: able.length > 1 ? 2 : 1 };
}
