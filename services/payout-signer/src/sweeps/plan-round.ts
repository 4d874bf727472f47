import type { Lease } from '@opentill/db/lease';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { SweepOption } from '@opentill/domain/plan-sweeps';
import { advanceSweep } from './advance-sweep.ts';
import { drawPlan, showPlan } from './draw-plan.ts';
import { findAsset, nativeOf } from './known-assets.ts';
import type { BeginningDeps, PlannerDeps } from './planner-deps.ts';
import type { NewSweep, SweepBooks } from './store/sweep-facts.ts';
import { nextDepositPage, startRun, type RoundMemory } from './next-page.ts';

/**
 * Each step is its own commit and relies only on the database. A failing sweep delays no other: the first error is
 * thrown after all had their turn.
 */
export async function planRound(
  deps: PlannerDeps,
  memory: RoundMemory,
  lease: Lease,
  signal: AbortSignal,
): Promise<void> {
  await assertClocksAgree(deps);
  const books = await lookFromStart(deps, memory, await deps.store.readView(memory.after));
  let moved = 0;
  let failure: Error | undefined;
  let { spentLastDay } = books;
  const onEnded = (stillToCome: bigint) => void (spentLastDay -= stillToCome);
  for (const sweep of books.open) {
    try {
      const step = { deps, lease, sweep, books: { ...books, spentLastDay }, signal, onEnded };
      if (await advanceSweep(step)) moved += 1;
    } catch (error) {
      if (signal.aborted || isLeaseLost(error)) throw error;
      failure ??= error instanceof Error ? error : new Error(String(error));
    }
  }
  const { policy, store } = deps;
  if (policy !== undefined) moved += await beginNew({ ...deps, policy }, memory, lease, books, signal);
  else if (books.requests.length > 0) await store.handled(lease, books.requests, 0);
  if (moved > 0) deps.onMovement();
  if (failure !== undefined) throw failure;
}

/** A clock that is set ahead would empty the windows of a day, and end sweeps before their time. */
async function assertClocksAgree({ readClocks, network: { chain } }: PlannerDeps): Promise<void> {
  const difference = await readClocks();
  if (difference !== undefined)
    throw new GatewayError('CLOCKS_DIFFER', difference, { retryable: true, context: { chain } });
}

function isLeaseLost(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'LEASE_LOST';
}

/** A request of an operator begins with the oldest balance. */
async function lookFromStart(
  { store }: PlannerDeps,
  memory: RoundMemory,
  books: SweepBooks,
): Promise<SweepBooks> {
  const { after } = memory;
  startRun(memory, books.requests);
  return memory.after === after ? books : store.readView(memory.after);
}

async function beginNew(
  deps: BeginningDeps,
  memory: RoundMemory,
  lease: Lease,
  books: SweepBooks,
  signal: AbortSignal,
): Promise<number> {
  const { network, codec, policy, store, observe } = deps;
  // Drawn even while no sweep may begin, for operators to see.
  const { plan, deposits, keeps, gasPrice, budgetBaseUnits } = await drawPlan(
    deps,
    { ...books, stopReason: undefined },
    signal,
  );
  observe.planned(network.chain, plan);
  await store.savePlan(lease, showPlan(plan, gasPrice, budgetBaseUnits));
  if (books.stopReason !== undefined) return 0;
  nextDepositPage(memory, books.page, keeps);
  let begun = 0;
  for (const { asset, option, amountBaseUnits, destination } of plan.begin) {
    const found = deposits.get(asset);
    const known = findAsset(network, codec, asset.symbol);
    if (found === undefined || known === undefined) continue;
    const receiver = destination === 'COLD' ? policy.coldAddress : deps.wallet;
    const first = firstMovement(deps, option, {
      ...known,
      kind: 'SWEEP',
      amountBaseUnits,
      wallet: found.address,
      receiver,
    });
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
  for (const { symbol, amountBaseUnits, costBaseUnits: plannedCost } of plan.toCold) {
    const known = findAsset(network, codec, symbol);
    if (known === undefined) continue;
    const moved = { ...known, amountBaseUnits, wallet: deps.wallet, receiver: policy.coldAddress };
    if (await store.move(lease, { ...moved, kind: 'TO_COLD', sweepId: null, plannedCost })) begun += 1;
  }
  const { run } = memory;
  if (run !== undefined) {
    run.begun += begun;
    if (memory.after === undefined && keeps.size === 0) await store.handled(lease, run.requests, run.begun);
  }
  return begun;
}

/** undefined if a seller is asked first: an order is no movement. */
function firstMovement(
  { network, wallet }: BeginningDeps,
  { method, topUpBaseUnits, stakeBaseUnits }: SweepOption,
  swept: NonNullable<NewSweep['first']>,
): NewSweep['first'] {
  const helping = { ...nativeOf(network), wallet, receiver: swept.wallet };
  if (topUpBaseUnits > 0n) return { ...helping, kind: 'GAS_TOP_UP', amountBaseUnits: topUpBaseUnits };
  if (method === 'STAKE' && stakeBaseUnits !== undefined)
    return { ...helping, kind: 'DELEGATE', amountBaseUnits: stakeBaseUnits };
  return method === 'RENT' ? undefined : swept;
}
