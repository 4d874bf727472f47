import type { Fault, Outcome } from './simulate-processes.ts';

export interface Sum {
  scenarios: number;
  doubles: number;
  stuck: number;
  again: number;
  first: string | undefined;
}

/** Only an answer can be lost. */
function hasEffect(kind: string, name: string): boolean {
  const isCall =
    /(latestCount|pendingCount|countAt|balances|currentPrices|prepare|broadcast|readFates|findInBlocks|readPayment)$/;
  switch (kind) {
    case 'crash':
      return true;
    case 'lost-request':
      return isCall.test(name) && name.startsWith('before');
    case 'lost-reply':
      return isCall.test(name) && name.startsWith('after');
    case 'wrong-answer':
      return name === 'after broadcast';
    default:
      // No step between two adjacent points can be interrupted by these.
      return name.startsWith('after');
  }
}

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
      if (!hasEffect(kind, name)) continue;
      const fault = { at: place + 1, kind };
      const single = await add([fault]);
      for (const [second, other] of single.points.entries()) {
        if (second <= place) continue;
        for (const next of secondsOf(kind)) {
          if (!hasEffect(next, other)) continue;
          turn += 1;
          if (turn % stride === 0) await add([fault, { at: second + 1, kind: next }]);
        }
      }
    }
  return sum;
}
