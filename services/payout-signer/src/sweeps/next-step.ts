import type { MovementKind, SweepMethod } from '@opentill/db/sweep-tables';
import { NO_ENERGY, type SweepMove } from './store/sweep-facts.ts';

/** What is known of a sweep by which its next step is decided. */
export interface SweepSoFar {
  readonly method: SweepMethod;
  readonly moves: readonly SweepMove[];
  /** When energy was ordered for it; null: never. */
  readonly orderedAt: Date | null;
  /** Why it comes to nothing, where that is so already and only something is to be taken back. */
  readonly reason: string | null;
}

/** What is to be done for an open sweep now. */
export type SweepStep =
  /** Something is on its way. */
  | { readonly kind: 'WAIT' }
  /** `reason`: why the sweep ends with it, where it comes to nothing. */
  | { readonly kind: 'BEGIN'; readonly movement: MovementKind; readonly reason?: string | null }
  /** The address is to be emptied by work that is lent or bought; not before that is there, and no later than this. */
  | { readonly kind: 'EMPTY'; readonly workSince: Date }
  /** Energy is to be bought. */
  | { readonly kind: 'BUY' }
  | { readonly kind: 'END'; readonly state: 'DONE' | 'FAILED' | 'ABANDONED'; readonly reason: string | null };

/** Tries of one kind before a sweep is given up; its address is planned anew later. */
const TRIES_MAX = 3;
/** Before another try, doubled with each. */
const BACKOFF_MS = 60_000;
const BACKOFF_MAX_MS = 3_600_000;

const WAIT: SweepStep = { kind: 'WAIT' };

/**
 * The next step of a sweep, by its movements alone: what brings its fee, then what empties the address, then what takes back
 * what was lent. A movement has moved when the ledger says PAID_OUT, which it says of verified receipts alone; it may be
 * tried again when nothing of it can move any more. What was lent comes back however the sweep ended, and once that has begun
 * nothing else does. An address that is no account yet is sent coin before anything can be lent to it.
 *
 *   | FREE   |              |          | SWEEP |            |
 *   | TOP_UP | GAS_TOP_UP   |          | SWEEP |            |
 *   | STAKE  | (GAS_TOP_UP) | DELEGATE | SWEEP | UNDELEGATE |
 *   | RENT   | (GAS_TOP_UP) | (bought) | SWEEP |            |
 */
export function nextStep(sweep: SweepSoFar, now: Date): SweepStep {
  const { method, moves, orderedAt } = sweep;
  const back = backStep(sweep, now);
  if (back !== undefined) return back;
  // Whatever was to come before it: it may have begun without, because fees fell or somebody else paid.
  if (moves.some((move) => move.kind === 'SWEEP' && !move.hasEndedUnpaid))
    return stepOf('SWEEP', moves, now) === 'DONE' ? ending(moves, 'DONE', null) : WAIT;
  for (const kind of FIRST[method]) {
    // Coin comes first where it was planned to: nothing else says that it is needed.
    if (kind === 'GAS_TOP_UP' && method !== 'TOP_UP' && !moves.some((move) => move.kind === kind)) continue;
    const step = stepOf(kind, moves, now);
    if (step === 'WAIT') return WAIT;
    if (step === 'GIVE_UP' && kind === 'DELEGATE') return ending(moves, 'ABANDONED', NO_ENERGY);
    if (step === 'GIVE_UP') return ending(moves, 'FAILED', givenUp(kind, moves));
    if (step === 'BEGIN') return { kind: 'BEGIN', movement: kind };
  }
  if (method === 'RENT' && orderedAt === null) return { kind: 'BUY' };
  const step = stepOf('SWEEP', moves, now);
  if (step === 'WAIT') return WAIT;
  if (step === 'GIVE_UP') return ending(moves, 'FAILED', givenUp('SWEEP', moves));
  const workSince = method === 'RENT' ? orderedAt : lentOf(moves)?.changedAt;
  return workSince ? { kind: 'EMPTY', workSince } : { kind: 'BEGIN', movement: 'SWEEP' };
}

/** Why nothing is tried any more: what never left this process did not fail on a chain. */
function givenUp(kind: MovementKind, moves: readonly SweepMove[]): string {
  const tries = moves.filter((move) => move.kind === kind);
  const wasSent = tries.some(({ money }) => money !== 'RELEASED');
  return `${kind} ${wasSent ? 'failed' : 'was not signed in time'} ${tries.length} times`;
}

/** How a sweep ends: with taking back what was lent, where that has not begun. */
export function ending(
  moves: readonly SweepMove[],
  state: 'DONE' | 'FAILED' | 'ABANDONED',
  reason: string | null,
): SweepStep {
  if (lentOf(moves) === undefined) return { kind: 'END', state, reason };
  return { kind: 'BEGIN', movement: 'UNDELEGATE', reason };
}

/** What was lent last. */
export function lentOf(moves: readonly SweepMove[]): SweepMove | undefined {
  return moves.findLast((move) => move.kind === 'DELEGATE' && move.money === 'PAID_OUT');
}

const FIRST: Readonly<Record<SweepMethod, readonly MovementKind[]>> = {
  FREE: [],
  TOP_UP: ['GAS_TOP_UP'],
  STAKE: ['GAS_TOP_UP', 'DELEGATE'],
  RENT: ['GAS_TOP_UP'],
};

/** Once taking back has begun: it is asked for again and again, so that what is lent is never left behind. */
function backStep({ moves, reason }: Pick<SweepSoFar, 'moves' | 'reason'>, now: Date): SweepStep | undefined {
  if (!moves.some(({ kind }) => kind === 'UNDELEGATE')) return undefined;
  const step = stepOf('UNDELEGATE', moves, now, Number.POSITIVE_INFINITY);
  if (step === 'WAIT') return WAIT;
  return step === 'DONE' ? endOf(moves, reason) : { kind: 'BEGIN', movement: 'UNDELEGATE' };
}

/** Of a sweep of which nothing is lent any more. */
export function endOf(moves: readonly SweepMove[], reason: string | null): SweepStep {
  const tries = moves.filter(({ kind }) => kind === 'SWEEP');
  if (tries.some(({ money }) => money === 'PAID_OUT')) return { kind: 'END', state: 'DONE', reason: null };
  return tries.length >= TRIES_MAX
    ? { kind: 'END', state: 'FAILED', reason: givenUp('SWEEP', moves) }
    : { kind: 'END', state: 'ABANDONED', reason: reason ?? NO_ENERGY };
}

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
