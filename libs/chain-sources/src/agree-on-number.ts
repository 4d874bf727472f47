import type { StateNumber } from '@opentill/chain/state-number';
import type { SourceAnswer } from './ask-two-sources.ts';
import type { Source } from './source.ts';

/** AGREED without a second answer: askTwoSources decides whether a single one is acceptable. */
export function agreeOnNumber<S extends Source>(
  [first, second]: readonly [
    SourceAnswer<S, readonly bigint[]>,
    SourceAnswer<S, readonly bigint[]> | undefined,
  ],
  index: number,
): StateNumber {
  const valueIn = ({ answer }: SourceAnswer<S, readonly bigint[]>): bigint => answer[index] ?? 0n;
  const value = valueIn(first);
  if (second === undefined || second.answer[index] === value) return { kind: 'AGREED', value };
  const said = [first, second].map((one) => ({ label: one.source.label, value: valueIn(one) }));
  return { kind: 'DISPUTED', said };
}
