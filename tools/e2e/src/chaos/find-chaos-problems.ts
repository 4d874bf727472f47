import type { ChaosFacts } from './facts.ts';
import { findBookProblems } from './find-book-problems.ts';
import { findCallbackProblems } from './find-callback-problems.ts';
import { findOrderProblems } from './find-order-problems.ts';
import { findPayoutProblems } from './find-payout-problems.ts';

/** Everything that is wrong with a gateway at rest; one line per problem, none when all is well. Pure. */
export function findChaosProblems(facts: ChaosFacts): string[] {
  return [
    ...findOrderProblems(facts),
    ...findPayoutProblems(facts),
    ...findCallbackProblems(facts),
    ...findBookProblems(facts),
  ];
}
