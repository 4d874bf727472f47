import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import type { Handlers } from '../handlers.ts';
import { keyAfter, PAGE_SIZE, pageOf } from '../page.ts';
import { opsError } from '../ops-error.ts';
import { time, timeOrNull } from '../format.ts';
import { deletePause, insertPause, readPauses } from '../store/pauses.ts';
import { findSweeps, insertSweepRequest, readSweepPlans } from '../store/sweeps.ts';
import type { OpsDeps } from './ops-deps.ts';
import { showPause } from './show-pause.ts';

type SweepOperation = 'listSweeps' | 'listSweepPlans' | 'pauseSweeps' | 'resumeSweeps' | 'runSweeps';

export function sweepHandlers({ db, assets }: OpsDeps): Pick<Handlers, SweepOperation> {
  return {
    async listSweeps({ limit = PAGE_SIZE, cursor, ...filter }) {
      const rows = await findSweeps(db, filter, keyAfter(cursor, 'uuid'), limit + 1);
      return pageOf(
        rows,
        limit,
        (row) => row.sweepId,
        ({ amount, costEstimate, rentCost, destination, destinationKind, movements, ...row }) => ({
          ...row,
          amountBaseUnits: amount.toString(),
          amount: assets.display(row.chain, row.symbol, amount),
          destination: destinationKind,
          receiver: destination,
          costEstimateBaseUnits: costEstimate.toString(),
          rentCostBaseUnits: rentCost?.toString() ?? null,
          rentCost: rentCost === null ? null : showCoin(assets, row.chain, rentCost),
          rentOrderedAt: timeOrNull(row.rentOrderedAt),
          plannedAt: time(row.plannedAt),
          endedAt: timeOrNull(row.endedAt),
          movements: [...movements],
        }),
      );
    },
    async listSweepPlans() {
      const [plans, pauses] = await Promise.all([readSweepPlans(db), readPauses(db, 'sweep_pause')]);
      return plans.map((row) =>
        showPlan(
          assets,
          row,
          pauses.find(({ chain }) => chain === row.chain),
        ),
      );
    },
    async pauseSweeps({ tx, operator }, { chain, reason }) {
      assets.requireNetwork(chain);
      const pause = await insertPause(tx, 'sweep_pause', { chain, operator: operator.operatorId, reason });
      if (pause === undefined) throw opsError('STATE_CONFLICT', `The sweeps of ${chain} are already paused.`);
      return { answer: { chain, pause: showPause(pause) } };
    },
    async resumeSweeps({ tx }, { chain }) {
      if (!(await deletePause(tx, 'sweep_pause', chain)))
        throw opsError('STATE_CONFLICT', `The sweeps of ${chain} are not paused.`);
      return { answer: { chain, pause: null } };
    },
    async runSweeps({ tx, operator }, { chain }) {
      assets.requireNetwork(chain);
      const requestId = await insertSweepRequest(tx, chain, operator.operatorId);
      return { answer: { chain, requestId }, subject: chain };
    },
  };
}

function showCoin(assets: OpsDeps['assets'], chain: string, baseUnits: bigint): string | null {
  const network = assets.networks.find((one) => one.chain === chain);
  return network === undefined ? null : assets.display(chain, network.nativeSymbol, baseUnits);
}

function sum(amounts: readonly (string | undefined)[]): string {
  return amounts.reduce((total, amount = '0') => total + BigInt(amount), 0n).toString();
}

function showPlan(
  assets: OpsDeps['assets'],
  { chain, plan, plannedAt }: Awaited<ReturnType<typeof readSweepPlans>>[number],
  pause: Parameters<typeof showPause>[0] | undefined,
): OpsAnswer<'listSweepPlans'>[number] {
  const native = assets.requireNetwork(chain).nativeSymbol;
  const shown = (symbol: string, baseUnits: string) => assets.display(chain, symbol, BigInt(baseUnits));
  const totalCost = sum([...plan.begin, ...plan.toCold].map(({ cost }) => cost));
  const totalTopUp = sum(plan.begin.map(({ topUp }) => topUp));
  return {
    chain,
    plannedAt: time(plannedAt),
    gasPriceBaseUnits: plan.gasPrice,
    budgetLeftBaseUnits: plan.budgetLeft,
    budgetLeft: shown(native, plan.budgetLeft.startsWith('-') ? '0' : plan.budgetLeft),
    nativeSymbol: native,
    begin: plan.begin.map(({ amount, cost, topUp = '0', ...sweep }) => ({
      ...sweep,
      amountBaseUnits: amount,
      amount: shown(sweep.symbol, amount),
      costBaseUnits: cost,
      cost: shown(native, cost),
      topUpBaseUnits: topUp,
      topUp: shown(native, topUp),
    })),
    toCold: plan.toCold.map(({ symbol, amount, cost = '0' }) => ({
      symbol,
      amountBaseUnits: amount,
      amount: shown(symbol, amount),
      costBaseUnits: cost,
      cost: shown(native, cost),
    })),
    totalCostBaseUnits: totalCost,
    totalCost: shown(native, totalCost),
    totalTopUpBaseUnits: totalTopUp,
    totalTopUp: shown(native, totalTopUp),
    waiting: Object.entries(plan.waiting).map(([reason, count]) => ({ reason, count })),
    pause: pause === undefined ? null : showPause(pause),
  };
}
