import type { PayoutMoney } from '@opentill/db/payout-tables';
import type { MovementKind, SweepMethod } from '@opentill/db/sweep-tables';

/** A movement of a sweep, oldest first. */
export interface SweepMove {
  readonly kind: MovementKind;
  readonly money: PayoutMoney;
  readonly amountBaseUnits: bigint;
  /** Whether it ended without anything having moved, and nothing of it can move any more. */
  readonly hasEndedUnpaid: boolean;
  readonly endedAt: Date | null;
}

/** What is to be done for an open sweep now. */
export type SweepStep =
  /** Something is on its way. */
  | { readonly kind: 'WAIT' }
  | { readonly kind: 'BEGIN'; readonly movement: MovementKind }
  | { readonly kind: 'END'; readonly state: 'DONE' | 'FAILED'; readonly reason: string | null };

/** Tries of one kind before a sweep is given up; its address is planned anew later. */
const TRIES_MAX = 3;
/** Before another try, doubled with each. */
const BACKOFF_MS = 60_000;
const BACKOFF_MAX_MS = 3_600_000;

const WAIT: SweepStep = { kind: 'WAIT' };

/**
 * The next step of a sweep, by its movements alone: what brings its fee, then what empties the address, then what takes back
 * what was lent. A movement has moved when the ledger says PAID_OUT, which it says of verified receipts alone; it may be
 * tried again when nothing of it can move any more. What was lent comes back however the sweep ended.
 *
 *   | FREE   |            | SWEEP |            |
 *   | TOP_UP | GAS_TOP_UP | SWEEP |            |
 *   | STAKE  | DELEGATE   | SWEEP | UNDELEGATE |
 *   | RENT   | (bought)   | SWEEP |            |
 */
export function nextStep(method: SweepMethod, moves: readonly SweepMove[], now: Date): SweepStep {
  const lent = moves.some((move) => move.kind === 'DELEGATE' && move.money === 'PAID_OUT');
  const back = stepOf('UNDELEGATE', moves, now, Number.POSITIVE_INFINITY);
  const end = (state: 'DONE' | 'FAILED', reason: string | null): SweepStep => {
    if (!lent || back === 'DONE') return { kind: 'END', state, reason };
    // What is lent is never left behind: it is asked for again and again.
    return back === 'WAIT' ? WAIT : { kind: 'BEGIN', movement: 'UNDELEGATE' };
  };
  const before = FIRST[method];
  if (before !== undefined) {
    const step = stepOf(before, moves, now);
    if (step === 'WAIT') return WAIT;
    if (step === 'GIVE_UP') return end('FAILED', `${before} failed ${TRIES_MAX} times`);
    if (step === 'BEGIN') return { kind: 'BEGIN', movement: before };
  }
  const step = stepOf('SWEEP', moves, now);
  if (step === 'WAIT') return WAIT;
  if (step === 'DONE') return end('DONE', null);
  if (step === 'GIVE_UP') return end('FAILED', `SWEEP failed ${TRIES_MAX} times`);
  // Energy that was taken back already is lent no second time.
  return lent && back === 'DONE' ? end('FAILED', 'SWEEP failed') : { kind: 'BEGIN', movement: 'SWEEP' };
}

const FIRST: Readonly<Record<SweepMethod, MovementKind | undefined>> = {
  FREE: undefined,
  TOP_UP: 'GAS_TOP_UP',
  STAKE: 'DELEGATE',
  RENT: undefined,
};

function stepOf(
  kind: MovementKind,
  moves: readonly SweepMove[],
  now: Date,
  triesMax = TRIES_MAX,
): 'BEGIN' | 'WAIT' | 'DONE' | 'GIVE_UP' {
  const tries = moves.filter((move) => move.kind === kind);
  const last = tries.at(-1);
  if (last === undefined) return 'BEGIN';
  if (last.money === 'PAID_OUT') return 'DONE';
  if (!last.hasEndedUnpaid) return 'WAIT';
  if (tries.length >= triesMax) return 'GIVE_UP';
  const sinceMs = now.getTime() - (last.endedAt?.getTime() ?? now.getTime());
  return sinceMs >= Math.min(BACKOFF_MS * 2 ** (tries.length - 1), BACKOFF_MAX_MS) ? 'BEGIN' : 'WAIT';
}
