import type { Lease } from '@opentill/db/lease';
import { drawPlan, showPlan } from './draw-plan.ts';
import { assetsOf, nativeOf } from './known-assets.ts';
import { nextStep } from './next-step.ts';
import type { PlannerDeps } from './planner-deps.ts';
import { withFeeMargin } from './price-sweeps.ts';
import type { NewMovement, OpenSweep, SweepBooks } from './sweep-facts.ts';

/**
 * One round: what has begun goes a step further, then new sweeps begin within the policy's bounds, then what the hot wallet
 * holds too much of goes to cold storage. Each step is a commit of its own and rests on what the database says, so a round
 * that ends anywhere is gone on with by the next one, of whatever process.
 */
export async function planRound(
  deps: PlannerDeps,
  lease: Lease,
  signal: AbortSignal,
): Promise<void | 'again'> {
  const books = await deps.store.look();
  let moved = 0;
  for (const sweep of books.open) if (await advance(deps, lease, sweep, books, signal)) moved += 1;
  moved += await beginNew(deps, lease, books, signal);
  if (moved === 0) return undefined;
  deps.onMovement();
  return undefined;
}

/** @returns whether a movement began */
async function advance(
  deps: PlannerDeps,
  lease: Lease,
  sweep: OpenSweep,
  books: SweepBooks,
  signal: AbortSignal,
): Promise<boolean> {
  const { store, observe, network } = deps;
  const step = nextStep(sweep.method, sweep.moves, books.now);
  if (step.kind === 'WAIT') return false;
  if (step.kind === 'END') {
    await store.end(lease, sweep.sweepId, step.state, step.reason);
    observe.stepped(network.chain, sweep.sweepId, step.state);
    return false;
  }
  const movement = await movementOf(deps, sweep, step.movement, signal);
  if (movement === undefined) return false;
  const began = await store.move(lease, movement);
  observe.stepped(network.chain, sweep.sweepId, began ? movement.kind : `${movement.kind} is not covered`);
  // What lay there is gone, or promised elsewhere: the plan is no good any more.
  if (!began && movement.kind === 'SWEEP') await store.end(lease, sweep.sweepId, 'ABANDONED', 'not covered');
  return began;
}

/** Undefined while nobody knows what it has to be. */
async function movementOf(
  deps: PlannerDeps,
  sweep: OpenSweep,
  kind: string,
  signal: AbortSignal,
): Promise<NewMovement | undefined> {
  const { network, wallet, codec } = deps;
  const native = nativeOf(network);
  if (kind === 'UNDELEGATE') {
    const lent = sweep.moves.findLast((move) => move.kind === 'DELEGATE' && move.money === 'PAID_OUT');
    if (lent === undefined) return undefined;
    const { amountBaseUnits } = lent;
    return { ...native, kind, sweepId: sweep.sweepId, amountBaseUnits, wallet, receiver: sweep.address };
  }
  const asset = assetsOf(network, codec).find(({ symbol }) => symbol === sweep.symbol);
  if (asset === undefined) return undefined;
  const swept: NewMovement = {
    ...asset,
    kind: 'SWEEP',
    sweepId: sweep.sweepId,
    amountBaseUnits: sweep.amountBaseUnits,
    wallet: sweep.address,
    receiver: sweep.destination,
  };
  if (kind === 'SWEEP') return swept;
  if (kind !== 'GAS_TOP_UP') return undefined;
  // Coin that came otherwise meanwhile is as good.
  const intent = { from: sweep.address, to: sweep.destination, contract: asset.contract };
  const options = { signal };
  const [cost] = await deps.chain.costsOf([{ ...intent, amountBaseUnits: sweep.amountBaseUnits }], options);
  if (cost === undefined) return undefined;
  const missing = withFeeMargin(cost) - (await deps.chain.coinAt(sweep.address, options));
  if (missing <= 0n) return swept;
  return {
    ...native,
    kind,
    sweepId: sweep.sweepId,
    amountBaseUnits: missing,
    wallet,
    receiver: sweep.address,
  };
}

/** @returns how many movements began */
async function beginNew(
  deps: PlannerDeps,
  lease: Lease,
  books: SweepBooks,
  signal: AbortSignal,
): Promise<number> {
  const { network, policy, store, observe } = deps;
  // Drawn also while nothing may begin: operators see what would.
  const { plan, lying, gasPrice, budgetBaseUnits } = await drawPlan(
    deps,
    { ...books, stoppedBy: undefined },
    signal,
  );
  observe.planned(network.chain, plan);
  await store.savePlan(lease, showPlan(plan, gasPrice, budgetBaseUnits));
  if (books.stoppedBy !== undefined) return 0;
  let begun = 0;
  for (const { asset, option, amountBaseUnits, destination } of plan.begin) {
    const found = lying.get(asset);
    const known = assetsOf(network, deps.codec).find(({ symbol }) => symbol === asset.symbol);
    if (found === undefined || known === undefined) continue;
    const receiver = destination === 'COLD' ? policy.coldAddress : deps.wallet;
    const first =
      option.topUpBaseUnits > 0n
        ? {
            ...nativeOf(network),
            kind: 'GAS_TOP_UP' as const,
            amountBaseUnits: option.topUpBaseUnits,
            wallet: deps.wallet,
            receiver: found.address,
          }
        : { ...known, kind: 'SWEEP' as const, amountBaseUnits, wallet: found.address, receiver };
    const sweep = {
      address: found.address,
      symbol: asset.symbol,
      contract: found.contract,
      amountBaseUnits,
      destination: receiver,
      destinationKind: destination,
      method: option.method,
      costBaseUnits: option.costBaseUnits,
      first,
    };
    if (await store.begin(lease, sweep)) begun += 1;
  }
  for (const { symbol, amountBaseUnits } of plan.toCold) {
    const known = assetsOf(network, deps.codec).find((asset) => asset.symbol === symbol);
    if (known === undefined) continue;
    const { coldAddress: receiver } = policy;
    const { wallet } = deps;
    if (
      await store.move(lease, { ...known, kind: 'TO_COLD', sweepId: null, amountBaseUnits, wallet, receiver })
    )
      begun += 1;
  }
  if (books.requests.length > 0) await store.handled(lease, books.requests, begun);
  return begun;
}
