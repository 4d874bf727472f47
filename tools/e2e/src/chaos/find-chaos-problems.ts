import type { ChaosFacts } from './facts.ts';
import { findBookProblems } from './find-book-problems.ts';
import { findCallbackProblems } from './find-callback-problems.ts';
import { findOrderProblems } from './find-order-problems.ts';
import { findPayoutProblems } from './find-payout-problems.ts';

/** Checks a gateway at rest. Returns one line per problem. Pure. */
export function findChaosProblems(facts: ChaosFacts): string[] {
  return [
    ...findOrderProblems(facts),
    ...findPayoutProblems(facts),
    ...findCallbackProblems(facts),
    ...findBookProblems(facts),
  ];
}
