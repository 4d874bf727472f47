import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { SourceAnswer } from '@opentill/chain-sources/ask-two-sources';
import type { EvmSource, EvmSources } from '../sources.ts';
import { isFailoverError } from '@opentill/chain-sources/is-failover-error';

/** For questions that need no agreement. Replaces sources that fail. Throws the last failure when none answers. */
export async function askSomeSources<T>(
  sources: EvmSources,
  wanted: number,
  ask: (source: EvmSource, options: ReadOptions) => Promise<T>,
  options: ReadOptions,
): Promise<readonly SourceAnswer<EvmSource, T>[]> {
  const received: SourceAnswer<EvmSource, T>[] = [];
  const left = [...sources.quorumSources()];
  let failure: unknown;
  while (received.length < wanted && left.length > 0) {
    const asked = left.splice(0, wanted - received.length);
    const answers = await Promise.allSettled(asked.map((source) => ask(source, options)));
    for (const [place, source] of asked.entries()) {
      const answer = answers[place];
      if (answer === undefined) continue;
      if (answer.status === 'fulfilled') {
        received.push({ source, answer: answer.value });
        continue;
      }
      failure = answer.reason;
      if (options.signal?.aborted === true || !isFailoverError(failure)) throw failure;
      sources.noteFault(source, failure);
    }
  }
  if (received.length === 0) throw failure;
  return received;
}
