import type { SweepMethod } from '@opentill/db/sweep-tables';
import type { EnergyQuote } from '../energy/energy-seller.ts';
import type { StepFacts } from './step-facts.ts';
import { ENERGY_DEARER, NO_ENERGY, type CostObstacle, type SweepMove } from './store/sweep-facts.ts';

type Row = 'GAS_TOP_UP' | 'DELEGATE' | 'BUY' | 'SWEEP';
type Movement = Exclude<Row, 'BUY'> | 'UNDELEGATE';
type EndState = 'DONE' | 'FAILED' | 'ABANDONED';

export type SweepStep =
  | { readonly kind: 'WAIT' }
  | { readonly kind: 'PROBE_FEE' | 'PROBE_LENDABLE' | 'PROBE_LENT'; readonly movement: Row | Movement }
  | { readonly kind: 'PROBE_QUOTE'; readonly units: bigint }
  | {
      readonly kind: 'BEGIN';
      readonly movement: Movement;
      readonly amountBaseUnits: bigint;
      readonly seconds?: number;
      /** UNDELEGATE: why the sweep ends without a transfer. */
      readonly reason: string | null;
    }
  | { readonly kind: 'BUY'; readonly quote: EnergyQuote }
  | { readonly kind: 'END'; readonly state: EndState; readonly reason: string | null };

/** Per kind, before a sweep is given up. Its address is planned again later. */
const TRIES_MAX = 3;
const BACKOFF_MS = 60_000;
const BACKOFF_MAX_MS = 3_600_000;
/** Lent or bought energy must be used soon. A sweep that was not signed within this time is planned again. */
const ENERGY_SWEEP_SECONDS = 1_200;

const WAIT: SweepStep = { kind: 'WAIT' };

const ROWS: Readonly<Record<SweepMethod, readonly Row[]>> = {
  FREE: ['SWEEP'],
  TOP_UP: ['GAS_TOP_UP', 'SWEEP'],
  STAKE: ['GAS_TOP_UP', 'DELEGATE', 'SWEEP'],
  RENT: ['GAS_TOP_UP', 'BUY', 'SWEEP'],
};

/**
 * The next step of a sweep: the first line that fits. The rows of its method are decided in order. A row is done when
 * its movement is PAID_OUT in the ledger, which needs a verified receipt, or when the address has what the row would
 * bring.
 *
 *   | row           | facts                                          | step                                         |
 *   |---------------|------------------------------------------------|----------------------------------------------|
 *   | none          | UNDELEGATE has begun                           | WAIT, BEGIN it again, or END when it is done |
 *   |               | a step of this call was refused                | END                                          |
 *   |               | SWEEP is under way; is done                    | WAIT; END                                    |
 *   | any           | its movement is under way, or backs off        | WAIT                                         |
 *   |               | its movement failed three times                | END                                          |
 *   |               | no policy                                      | END                                          |
 *   |               | the chain is halted                            | WAIT                                         |
 *   |               | the asset is held, the budget is spent         | WAIT, END after `energyWaitMs`               |
 *   |               | a probe shows that the chain rejects SWEEP     | WAIT, END after `energyWaitMs`               |
 *   | all but SWEEP | the fee is unknown                             | WAIT, END after six times `energyWaitMs`     |
 *   | GAS_TOP_UP    | SWEEP costs too much, and the method is TOP_UP | WAIT, END after `energyWaitMs`               |
 *   |               | coin is missing                                | BEGIN GAS_TOP_UP                             |
 *   | DELEGATE, BUY | the address is no account yet                  | WAIT                                         |
 *   | DELEGATE      | energy came from elsewhere                     | BEGIN SWEEP                                  |
 *   |               | energy is missing                              | BEGIN DELEGATE, END without stake to lend    |
 *   | BUY           | energy is missing, its price is unknown        | WAIT, END after six times `energyWaitMs`     |
 *   |               | energy is missing                              | BUY, END above the bounds                    |
 *   | SWEEP         | lent or ordered energy is missing              | WAIT, END after `energyWaitMs`               |
 *   |               | a SWEEP failed, another one costs too much     | END                                          |
 *   |               | the token is no longer configured              | WAIT, END after six times `energyWaitMs`     |
 *   |               | none of these                                  | BEGIN SWEEP                                  |
 *
 * If the halted hot wallet would have to sign a BEGIN: WAIT, END after `energyWaitMs`. Only UNDELEGATE begins. A
 * sweep with lent stake does not END: it begins UNDELEGATE, and ENDs when the stake is back. A line that needs an
 * unknown fact gives PROBE_…; the caller adds that fact and calls again.
 */
export function nextStep(facts: StepFacts): SweepStep {
  const { method, moves, reason } = facts.sweep;
  if (moves.some(({ kind }) => kind === 'UNDELEGATE')) {
    const back = stateOf('UNDELEGATE', facts);
    if (back === 'WAIT') return WAIT;
    return back === 'DONE' ? endOf(moves, reason) : takeBack(facts, reason);
  }
  if (facts.refused !== undefined) return ending(facts, 'ABANDONED', facts.refused);
  // Rows before SWEEP no longer matter: it may have begun without them, when fees fell or coin came from elsewhere.
  if (moves.some(({ kind, hasEndedUnpaid }) => kind === 'SWEEP' && !hasEndedUnpaid))
    return stateOf('SWEEP', facts) === 'DONE' ? ending(facts, 'DONE', null) : WAIT;
  for (const row of ROWS[method]) {
    // Coin in addition to energy is only brought if that was planned.
    if (row === 'GAS_TOP_UP' && method !== 'TOP_UP' && !moves.some(({ kind }) => kind === row)) continue;
    const state = stateOf(row, facts);
    if (state === 'WAIT') return WAIT;
    if (state === 'GIVE_UP' && row === 'DELEGATE') return ending(facts, 'ABANDONED', NO_ENERGY);
    if (state === 'GIVE_UP') return ending(facts, 'FAILED', givenUp(row, moves));
    const step = state === 'BEGIN' ? (blocked(facts) ?? begin(row, facts)) : undefined;
    if (step !== undefined) return step;
  }
  return WAIT;
}

/** The hot wallet must sign next, also as sponsor of SWEEP (SUI). Signed transactions are sent even if it is halted. */
export function waitsForWallet(facts: StepFacts): boolean {
  const books = { ...facts.books, isHalted: false, heldSymbols: new Set<string>(), spentLastDay: 0n };
  const step = nextStep({ ...facts, books, isWalletHalted: false });
  const signs = (movement: string) => movement !== 'BUY' && (movement !== 'SWEEP' || facts.isSponsored);
  if ('movement' in step) return signs(step.movement);
  const newest = facts.sweep.moves.at(-1);
  if (step.kind !== 'WAIT' || newest === undefined || !signs(newest.kind)) return false;
  return newest.isUnsigned || newest.hasEndedUnpaid;
}

function blocked(facts: StepFacts): SweepStep | undefined {
  const { sweep, books, policy } = facts;
  if (policy === undefined) return ending(facts, 'ABANDONED', 'the policy has no sweeps here');
  // A movement that begins now would expire unsigned.
  if (books.isHalted) return WAIT;
  if (books.heldSymbols.has(sweep.symbol)) return waitOrGiveUp(facts, 'ASSET_HELD');
  // Includes the rest of this sweep's plan. It exceeds the bound when a try failed, or the policy allows less now.
  return books.spentLastDay > policy.maxNativePerDayBaseUnits ? waitOrGiveUp(facts, 'BUDGET') : undefined;
}

/** @returns undefined if the address already has what the row would bring */
function begin(row: Row, facts: StepFacts): SweepStep | undefined {
  const { fee, delegableBaseUnits: delegable } = facts;
  if (row === 'SWEEP') return empty(facts);
  if (fee === undefined) return { kind: 'PROBE_FEE', movement: row };
  if (typeof fee === 'string') return waitOrGiveUp(facts, fee);
  if (row === 'GAS_TOP_UP') {
    // With lent or bought energy, the coin does not pay for the work.
    if (facts.sweep.method === 'TOP_UP' && fee.exceedsPlan) return waitOrGiveUp(facts, 'FEES_ABOVE_CAP');
    return fee.missingCoin > 0n ? help(row, fee.missingCoin, facts) : undefined;
  }
  if (fee.energy === undefined) return waitOrGiveUp(facts, 'UNKNOWN');
  const { isActive, missingUnits, maxPriceSun, stakeBaseUnits: stake } = fee.energy;
  // Its first coin is verified, but not all nodes have it yet.
  if (!isActive) return WAIT;
  if (row === 'BUY') return missingUnits > 0n ? buy(missingUnits, maxPriceSun, facts) : undefined;
  // Energy from elsewhere may be gone soon, so an earlier try does not delay the next one.
  if (missingUnits === 0n) return send(facts);
  if (delegable === undefined) return { kind: 'PROBE_LENDABLE', movement: row };
  return stake === undefined || stake > delegable
    ? ending(facts, 'ABANDONED', 'no stake is left to lend')
    : help(row, stake, facts);
}

function buy(units: bigint, maxPriceSun: bigint, facts: StepFacts): SweepStep {
  const { quote, policy, books, hasSeller } = facts;
  if (books.suspendedMethods.has('RENT')) return ending(facts, 'ABANDONED', 'no energy is bought for now');
  if (!hasSeller || policy?.rent !== true) return ending(facts, 'ABANDONED', 'energy is no longer bought');
  if (quote === undefined) return { kind: 'PROBE_QUOTE', units };
  if (quote === 'UNKNOWN') return waitOrGiveUp(facts, quote);
  return quote.priceSun <= policy.maxRentPerOrderBaseUnits && quote.priceSun <= maxPriceSun
    ? { kind: 'BUY', quote }
    : ending(facts, 'ABANDONED', ENERGY_DEARER);
}

function empty(facts: StepFacts): SweepStep {
  const { sweep, fee, books, energyWaitMs } = facts;
  const { method, moves, orderedAt, contract } = sweep;
  const workSince = method === 'RENT' ? orderedAt : lentOf(moves)?.changedAt;
  const tries = moves.filter(({ kind }) => kind === 'SWEEP');
  if (!workSince && tries.length === 0) return send(facts);
  if (fee === undefined) return { kind: 'PROBE_FEE', movement: 'SWEEP' };
  if (fee === 'WOULD_FAIL' || fee === 'FEES_ABOVE_CAP') return waitOrGiveUp(facts, fee);
  if (workSince) {
    if (fee !== 'UNKNOWN' && !fee.isShort && !fee.exceedsPlan) return send(facts);
    const isOver = books.now.getTime() - workSince.getTime() >= energyWaitMs;
    return isOver ? ending(facts, 'ABANDONED', NO_ENERGY) : WAIT;
  }
  if (fee === 'UNKNOWN') return send(facts);
  const isShort = fee.isShort && contract !== null;
  // The address is planned again at later prices: a sweep brings only one fee.
  if (isShort && tries.some(({ money }) => money === 'RETURNED'))
    return ending(facts, 'FAILED', 'SWEEP failed, and spent its fee');
  return isShort || fee.exceedsPlan ? waitOrGiveUp(facts, 'FEES_ABOVE_CAP') : send(facts);
}

function send(facts: StepFacts): SweepStep {
  const { method, orderedAt, amountBaseUnits } = facts.sweep;
  if (facts.isSponsored && facts.isWalletHalted) return waitOrGiveUp(facts, 'WALLET_HALTED');
  if (facts.isAssetGone) return waitOrGiveUp(facts, 'UNKNOWN');
  const seconds = method === 'STAKE' || orderedAt !== null ? { seconds: ENERGY_SWEEP_SECONDS } : {};
  return { kind: 'BEGIN', movement: 'SWEEP', amountBaseUnits, reason: null, ...seconds };
}

function help(movement: 'GAS_TOP_UP' | 'DELEGATE', amountBaseUnits: bigint, facts: StepFacts): SweepStep {
  if (facts.isWalletHalted) return waitOrGiveUp(facts, 'WALLET_HALTED');
  return { kind: 'BEGIN', movement, amountBaseUnits, reason: null };
}

function ending(facts: StepFacts, state: EndState, reason: string | null): SweepStep {
  return lentOf(facts.sweep.moves) === undefined ? { kind: 'END', state, reason } : takeBack(facts, reason);
}

/** Takes back what the chain shows as lent: an operator may have taken some back by hand. */
function takeBack({ sweep: { moves }, lentBaseUnits: there }: StepFacts, reason: string | null): SweepStep {
  const lent = lentOf(moves);
  if (lent === undefined) return WAIT;
  if (there === undefined) return { kind: 'PROBE_LENT', movement: 'UNDELEGATE' };
  if (there === 0n) return endOf(moves, reason);
  const amountBaseUnits = there < lent.amountBaseUnits ? there : lent.amountBaseUnits;
  return { kind: 'BEGIN', movement: 'UNDELEGATE', amountBaseUnits, reason };
}

function endOf(moves: readonly SweepMove[], reason: string | null): SweepStep {
  const tries = moves.filter(({ kind }) => kind === 'SWEEP');
  if (tries.some(({ money }) => money === 'PAID_OUT')) return { kind: 'END', state: 'DONE', reason: null };
  return tries.length >= TRIES_MAX
    ? { kind: 'END', state: 'FAILED', reason: givenUp('SWEEP', moves) }
    : { kind: 'END', state: 'ABANDONED', reason: reason ?? NO_ENERGY };
}

type Obstacle = CostObstacle | 'ASSET_HELD' | 'WALLET_HALTED' | 'BUDGET' | 'UNKNOWN';

const REASONS: Readonly<Record<Obstacle, string>> = {
  WOULD_FAIL: 'the chain would refuse the transfer',
  FEES_ABOVE_CAP: 'fees are above what may be paid',
  ASSET_HELD: 'its asset is on hold',
  WALLET_HALTED: 'the hot wallet is halted',
  BUDGET: 'the budget of the day is used up',
  UNKNOWN: 'its cost is unknown',
};
/** Factor of the waiting time. Failing or differing sources mostly recover; an unconfigured token never does. */
const WAITS_WHERE_UNKNOWN = 6;

/** Gives the place to other sweeps. One that was tried has already waited for its transaction's whole time limit. */
function waitOrGiveUp(facts: StepFacts, obstacle: Obstacle): SweepStep {
  const { sweep, books, energyWaitMs } = facts;
  const { plannedAt, moves } = sweep;
  const wasTried = moves.some(({ kind, hasEndedUnpaid }) => kind === 'SWEEP' && hasEndedUnpaid);
  const sinceMs = Math.max(plannedAt.getTime(), ...moves.map(({ changedAt }) => changedAt.getTime()));
  const isUnknown = obstacle === 'UNKNOWN';
  const isOver = books.now.getTime() - sinceMs >= energyWaitMs * (isUnknown ? WAITS_WHERE_UNKNOWN : 1);
  return isOver || (wasTried && !isUnknown) ? ending(facts, 'ABANDONED', REASONS[obstacle]) : WAIT;
}

/** A movement that was never sent did not fail on a chain. */
function givenUp(kind: Row, moves: readonly SweepMove[]): string {
  const tries = moves.filter((move) => move.kind === kind);
  const wasSent = tries.some(({ money }) => money !== 'RELEASED');
  return `${kind} ${wasSent ? 'failed' : 'was not signed in time'} ${tries.length} times`;
}

function lentOf(moves: readonly SweepMove[]): SweepMove | undefined {
  return moves.findLast((move) => move.kind === 'DELEGATE' && move.money === 'PAID_OUT');
}

function stateOf(
  row: Row | Movement,
  { sweep: { moves, orderedAt }, books }: StepFacts,
): 'BEGIN' | 'WAIT' | 'DONE' | 'GIVE_UP' {
  if (row === 'BUY') return orderedAt === null ? 'BEGIN' : 'DONE';
  const tries = moves.filter((move) => move.kind === row);
  const last = tries.at(-1);
  if (last === undefined) return 'BEGIN';
  if (last.money === 'PAID_OUT') return 'DONE';
  if (!last.hasEndedUnpaid) return 'WAIT';
  if (row !== 'UNDELEGATE' && tries.length >= TRIES_MAX) return 'GIVE_UP';
  const sinceMs = books.now.getTime() - (last.endedAt?.getTime() ?? books.now.getTime());
  return sinceMs >= Math.min(BACKOFF_MS * 2 ** (tries.length - 1), BACKOFF_MAX_MS) ? 'BEGIN' : 'WAIT';
}
