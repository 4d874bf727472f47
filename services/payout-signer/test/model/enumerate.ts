import type { Fault, Outcome } from './lives.ts';

export interface Sum {
  scenarios: number;
  doubles: number;
  stuck: number;
  /** Scenarios with more transactions than payouts. */
  again: number;
  first: string | undefined;
}

/** A fault can only strike where it has an effect: an answer is lost where one is given. */
function strikes(kind: string, name: string): boolean {
  const isCall =
    /(latestCount|pendingCount|countAt|balances|currentPrices|prepare|broadcast|readFates|findInBlocks|readPayment)$/;
  switch (kind) {
    case 'crash':
      return true;
    case 'lost-request':
      return isCall.test(name) && name.startsWith('before');
    case 'lost-reply':
      return isCall.test(name) && name.startsWith('after');
    case 'lie':
      return name === 'after broadcast';
    default:
      // The process does nothing between two points in a row that these could interrupt.
      return name.startsWith('after');
  }
}

/** Runs every fault alone, and every `stride`-th pair of faults. */
export async function enumerateFaults<Kind extends string>(
  run: (faults: readonly Fault<Kind>[]) => Promise<Outcome>,
  kinds: readonly Kind[],
  secondsOf: (first: Kind) => readonly Kind[],
  stride: number,
): Promise<Sum> {
  const { points } = await run([]);
  const sum: Sum = { scenarios: 0, doubles: 0, stuck: 0, again: 0, first: undefined };
  const add = async (faults: readonly Fault<Kind>[]): Promise<Outcome> => {
    const outcome = await run(faults);
    sum.scenarios += 1;
    if (outcome.doubles > 0) sum.doubles += 1;
    if (outcome.stuck > 0) sum.stuck += 1;
    if (outcome.signed > 3) sum.again += 1;
    if (outcome.doubles + outcome.stuck > 0)
      sum.first ??= JSON.stringify({ faults, ...outcome, points: outcome.points.slice(-30) });
    return outcome;
  };
  let turn = 0;
  for (const kind of kinds)
    for (const [place, name] of points.entries()) {
      if (!strikes(kind, name)) continue;
      const fault = { at: place + 1, kind };
      const alone = await add([fault]);
      for (const [second, other] of alone.points.entries()) {
        if (second <= place) continue;
        for (const next of secondsOf(kind)) {
          if (!strikes(next, other)) continue;
          turn += 1;
          if (turn % stride === 0) await add([fault, { at: second + 1, kind: next }]);
        }
      }
    }
  return sum;
}
