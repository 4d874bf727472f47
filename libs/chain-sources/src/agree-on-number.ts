import type { StateNumber } from '@opentill/chain/state-number';
import type { SourceAnswer } from './ask-two-sources.ts';
import type { Source } from './source.ts';

/** Accepts a single source's answer. */
export function agreeOnNumber<S extends Source>(
  [first, second]: readonly [
    SourceAnswer<S, readonly bigint[]>,
    SourceAnswer<S, readonly bigint[]> | undefined,
  ],
  place: number,
): StateNumber {
  const valueOf = ({ answer }: SourceAnswer<S, readonly bigint[]>): bigint => answer[place] ?? 0n;
  const value = valueOf(first);
  if (second === undefined || second.answer[place] === value) return { kind: 'AGREED', value };
  const said = [first, second].map((one) => ({ label: one.source.label, value: valueOf(one) }));
  return { kind: 'DISPUTED', said };
}
