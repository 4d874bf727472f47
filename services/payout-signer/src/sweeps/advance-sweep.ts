import type { MovementKind } from '@opentill/db/sweep-tables';
import { withFeeMargin } from '@opentill/domain/fee-margin';
import { missingUnits, stakeFor, topUpBesideWork, withTopUpMargin } from '@opentill/domain/ways-to-sweep';
import { buyEnergy } from './buy-energy.ts';
import { feeAtAddress, type FeeAtAddress } from './fee-at-address.ts';
import { findAsset, nativeOf } from './known-assets.ts';
import { ending, endOf, lentOf, nextStep, type SweepStep } from './next-step.ts';
import { NO_ENERGY, type NewMovement, type OpenSweep } from './store/sweep-facts.ts';
import type { OpenStep } from './planner-deps.ts';
import { termsOf } from './price-energy.ts';
import { standsStill, type SweepObstacle } from './stands-still.ts';
import { isSponsoredSweep } from './waits-for-wallet.ts';

/** What is lent or bought is used at once: one that could not be sent meanwhile is planned anew. */
const ENERGY_SWEEP_SECONDS = 1_200;
const NO_POLICY = 'the policy sweeps nothing here';

/** Goes one step further with a sweep that has begun. @returns whether a movement began */
export async function advanceSweep(at: OpenStep): Promise<boolean> {
  return take(at, nextStep(at.sweep, at.books.now));
}

async function take(at: OpenStep, step: SweepStep): Promise<boolean> {
  const { deps, lease, sweep, books, signal } = at;
  if (needsSigning(step)) {
    if (deps.policy === undefined) return take(at, ending(sweep.moves, 'ABANDONED', NO_POLICY));
    // All that would begin now would end again unsigned; what is lent comes back when it can.
    if (books.isHalted) return false;
    if (books.heldSymbols.has(sweep.symbol)) return stop(at, 'ASSET_HELD');
    // What is still to come of it is counted: where that is too much something has failed, or is allowed less now.
    if (books.spentLastDay > deps.policy.sweep.maxNativePerDayBaseUnits) return stop(at, 'BUDGET');
  }
  switch (step.kind) {
    case 'WAIT':
      return false;
    case 'END':
      await deps.store.end(lease, sweep.sweepId, step.state, step.reason);
      deps.observe.stepped(deps.network.chain, sweep.sweepId, step.state);
      at.onEnded(stillToCome(sweep));
      return false;
    case 'BUY': {
      const next = await buyEnergy(at);
      if (typeof next === 'string') return stop(at, next);
      return next === undefined ? false : take(at, next);
    }
    case 'EMPTY': {
      const fee = await feeAtAddress(deps, sweep, signal);
      if (typeof fee === 'string') return stop(at, fee);
      if (fee !== undefined && fee.burntBaseUnits <= fee.coinBaseUnits && !isDearer(sweep, fee))
        return sendAll(at, ENERGY_SWEEP_SECONDS);
      if (books.now.getTime() - step.workSince.getTime() < deps.energyWaitMs) return false;
      deps.observe.stepped(deps.network.chain, sweep.sweepId, NO_ENERGY, 'warn');
      return take(at, ending(sweep.moves, 'ABANDONED', NO_ENERGY));
    }
    case 'BEGIN':
      return begin(at, step.movement, step.reason);
  }
}

/** Whether it costs something, or would; but for taking back, which is tried until it is done. */
function needsSigning(step: SweepStep): boolean {
  return (
    step.kind === 'BUY' || step.kind === 'EMPTY' || (step.kind === 'BEGIN' && step.movement !== 'UNDELEGATE')
  );
}

/**
 * Gives up a sweep that something has been standing in the way of for a while: others have its place, and its address is planned
 * anew when it is gone. What was brought for it lies there for that.
 */
async function stop(at: OpenStep, obstacle: SweepObstacle): Promise<boolean> {
  const { deps, sweep, books } = at;
  const reason = standsStill(sweep, obstacle, books.now, deps.energyWaitMs);
  return reason === undefined ? false : take(at, ending(sweep.moves, 'ABANDONED', reason));
}

function begin(at: OpenStep, kind: MovementKind, reason?: string | null): Promise<boolean> {
  switch (kind) {
    case 'SWEEP':
      return empty(at);
    case 'GAS_TOP_UP':
      return topUp(at);
    case 'DELEGATE':
      return lend(at);
    case 'UNDELEGATE':
      return takeBack(at, reason);
    default:
      return Promise.resolve(false);
  }
}

/**
 * A try that failed may have taken the coin that another one needs, and one that was not signed for long may cost more than it was
 * planned for: whoever receives it may hold none of the token any more. Its address is planned anew then, at prices of now, and what is
 * missing is brought within all bounds: a sweep brings one fee.
 */
async function empty(at: OpenStep): Promise<boolean> {
  const { deps, sweep, signal } = at;
  const tries = sweep.moves.filter((tried) => tried.kind === 'SWEEP' && tried.hasEndedUnpaid);
  const fee = tries.length > 0 ? await feeAtAddress(deps, sweep, signal) : undefined;
  if (typeof fee === 'string') return stop(at, fee);
  if (fee === undefined) return sendAll(at);
  const isShort = sweep.contract !== null && fee.coinBaseUnits < fee.burntBaseUnits;
  if (isShort && tries.some(({ money }) => money === 'RETURNED'))
    return take(at, ending(sweep.moves, 'FAILED', 'SWEEP failed, and spent its fee'));
  return isShort || isDearer(sweep, fee) ? stop(at, 'FEES_ABOVE_CAP') : sendAll(at);
}

/** Whether nobody would sign it: it costs more than it was planned for. */
function isDearer({ costBaseUnits, paidBaseUnits }: OpenSweep, { burntBaseUnits }: FeeAtAddress): boolean {
  return burntBaseUnits > withFeeMargin(costBaseUnits) - paidBaseUnits;
}

function stillToCome({ costBaseUnits, paidBaseUnits }: OpenSweep): bigint {
  const left = withFeeMargin(costBaseUnits) - paidBaseUnits;
  return left > 0n ? left : 0n;
}

/** Coin that came otherwise meanwhile is as good, and so is energy. */
async function topUp(at: OpenStep): Promise<boolean> {
  const { deps, sweep, books, signal } = at;
  const fee = await feeAtAddress(deps, sweep, signal);
  if (typeof fee === 'string' || fee === undefined) return stop(at, fee ?? 'UNKNOWN');
  // Of work that is lent or bought it pays nothing.
  if (sweep.method === 'TOP_UP' && isDearer(sweep, fee)) return stop(at, 'FEES_ABOVE_CAP');
  const amountBaseUnits = missingCoin(sweep, fee);
  if (amountBaseUnits > 0n) return help(at, 'GAS_TOP_UP', amountBaseUnits);
  const brought = {
    kind: 'GAS_TOP_UP',
    money: 'PAID_OUT',
    amountBaseUnits: 0n,
    isUnsigned: false,
    hasEndedUnpaid: false,
    endedAt: null,
    changedAt: books.now,
  } as const;
  const others = sweep.moves.filter(({ kind }) => kind !== 'GAS_TOP_UP');
  return take(at, nextStep({ ...sweep, moves: [brought, ...others] }, books.now));
}

/** What pays for all of it; beside work that is lent or bought what the rest takes. */
function missingCoin({ method }: OpenSweep, { burntBaseUnits, coinBaseUnits, work }: FeeAtAddress): bigint {
  if (work === undefined) return withFeeMargin(burntBaseUnits) - coinBaseUnits;
  if (method === 'TOP_UP') return withTopUpMargin(burntBaseUnits) - coinBaseUnits;
  return topUpBesideWork(work.need, work.means, work.prices);
}

/** Lends what is missing. Where so much is not there any more another way is planned. */
async function lend(at: OpenStep): Promise<boolean> {
  const { deps, sweep, signal } = at;
  const { wallet, chain } = deps;
  const fee = await feeAtAddress(deps, sweep, signal);
  if (typeof fee === 'string') return stop(at, fee);
  if (fee?.work === undefined || chain.energy === undefined) return stop(at, 'UNKNOWN');
  const { need, means, market } = fee.work;
  // Its first coin is verified, and not all nodes are there yet.
  if (!means.isActive) return false;
  const units = missingUnits(need, means);
  if (units === 0n) return sendAll(at, ENERGY_SWEEP_SECONDS);
  const { lending } = termsOf(chain.energy, market, wallet, sweep.destination, true, () => undefined);
  const amountBaseUnits = lending === undefined ? undefined : stakeFor(units, lending);
  const lendable = await chain.energy.accounts.lendable(wallet, { signal });
  if (amountBaseUnits === undefined || amountBaseUnits > lendable)
    return take(at, ending(sweep.moves, 'ABANDONED', 'no stake is left to lend'));
  return help(at, 'DELEGATE', amountBaseUnits);
}

/** As much as the chain says is lent: an operator may have taken it back by himself. */
async function takeBack(at: OpenStep, reason: string | null = at.sweep.reason): Promise<boolean> {
  const { deps, sweep, signal } = at;
  const lent = lentOf(sweep.moves);
  const { energy } = deps.chain;
  if (lent === undefined || energy === undefined) return false;
  const there = await energy.accounts.lent(deps.wallet, sweep.address, { signal });
  if (there === 0n) return take(at, endOf(sweep.moves, reason));
  const amountBaseUnits = there < lent.amountBaseUnits ? there : lent.amountBaseUnits;
  return help(at, 'UNDELEGATE', amountBaseUnits, reason);
}

/** Begins what empties the address. What lay there may be gone, or promised elsewhere: then the plan is no good any more. */
async function sendAll(at: OpenStep, seconds?: number): Promise<boolean> {
  const { deps, sweep, books } = at;
  if (isSponsoredSweep(deps.chain, sweep) && books.haltedWallets.has(deps.wallet))
    return stop(at, 'WALLET_HALTED');
  const asset = findAsset(deps.network, deps.codec, sweep.symbol);
  if (asset === undefined) return stop(at, 'UNKNOWN');
  const began = await move(at, {
    ...asset,
    kind: 'SWEEP',
    amountBaseUnits: sweep.amountBaseUnits,
    wallet: sweep.address,
    receiver: sweep.destination,
    ...(seconds === undefined ? {} : { seconds }),
  });
  return began || take(at, ending(sweep.moves, 'ABANDONED', 'not covered'));
}

/** Nothing begins that a halted wallet has to sign, but for what takes back: that is tried until it is done. */
function help(
  at: OpenStep,
  kind: 'GAS_TOP_UP' | 'DELEGATE' | 'UNDELEGATE',
  amountBaseUnits: bigint,
  reason: string | null = null,
): Promise<boolean> {
  const { deps, sweep, books } = at;
  const { network, wallet } = deps;
  if (kind !== 'UNDELEGATE' && books.haltedWallets.has(wallet)) return stop(at, 'WALLET_HALTED');
  const helping = { ...nativeOf(network), kind, amountBaseUnits, wallet, receiver: sweep.address };
  return move(at, reason === null ? helping : { ...helping, endsFor: reason });
}

async function move(
  { deps: { store, observe, network }, lease, sweep: { sweepId } }: OpenStep,
  movement: Omit<NewMovement, 'sweepId'>,
): Promise<boolean> {
  const began = await store.move(lease, { ...movement, sweepId });
  observe.stepped(network.chain, sweepId, began ? movement.kind : `${movement.kind} is not covered`);
  return began;
}
