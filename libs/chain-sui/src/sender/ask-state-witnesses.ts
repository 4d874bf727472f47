import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import { askWitnesses } from '@opentill/chain-sources/ask-witnesses';
import type { SuiSource, SuiSources } from '../sui-sources.ts';

/** Archives: what they keep is history, and asked of what holds now they said that they do not offer it. */
const WITHOUT_STATE = new WeakSet<SuiSource>();

/** What two sources say, and how many of those that are configured had to. */
export interface StateWitnessed<T> {
  readonly said: readonly T[];
  readonly needed: 1 | 2;
}

/**
 * Asks as askWitnesses does, about what holds now: coins, balances, what a transaction would do. Two have to say it where two are
 * configured that can. A source that says it does not offer that is none of them, whatever becomes of it; one that is down is, or
 * the other's word alone would be believed.
 */
export async function askStateWitnesses<T>(
  sources: Pick<SuiSources, 'all' | 'witnesses' | 'noteFault'>,
  ask: (source: SuiSource) => Promise<T>,
  options: ReadOptions,
): Promise<StateWitnessed<T>> {
  const said = await askWitnesses(
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
  return { said, needed: able.length > 1 ? 2 : 1 };
}
