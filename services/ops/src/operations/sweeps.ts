import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import type { Handlers } from '../handlers.ts';
import { keyAfter, PAGE_SIZE, pageOf } from '../page.ts';
import { refuse } from '../refuse.ts';
import { time, timeOrNull } from '../show.ts';
import {
  deleteSweepPause,
  findSweeps,
  insertSweepPause,
  insertSweepRequest,
  readSweepPauses,
  readSweepPlans,
  type SweepPauseRow,
} from '../store/sweeps.ts';
import type { OpsDeps } from './ops-deps.ts';

type SweepOperation = 'listSweeps' | 'listSweepPlans' | 'pauseSweeps' | 'resumeSweeps' | 'runSweeps';

/** Deposit addresses that are emptied. */
export function sweepHandlers({ db, assets }: OpsDeps): Pick<Handlers, SweepOperation> {
  return {
    async listSweeps({ limit = PAGE_SIZE, cursor, ...filter }) {
      const rows = await findSweeps(db, filter, keyAfter(cursor, 'uuid'), limit + 1);
      return pageOf(
        rows,
        limit,
        (row) => row.sweepId,
        ({ amount, costEstimate, destination, destinationKind, movements, ...row }) => ({
          ...row,
          amountBaseUnits: amount.toString(),
          amount: assets.display(row.chain, row.symbol, amount),
          destination: destinationKind,
          receiver: destination,
          costEstimateBaseUnits: costEstimate.toString(),
          plannedAt: time(row.plannedAt),
          endedAt: timeOrNull(row.endedAt),
          movements: [...movements],
        }),
      );
    },
    async listSweepPlans() {
      const [plans, pauses] = await Promise.all([readSweepPlans(db), readSweepPauses(db)]);
      return plans.map(({ chain, plan, plannedAt }) => {
        const pause = pauses.find((row) => row.chain === chain);
        const native = assets.requireNetwork(chain).nativeSymbol;
        return {
          chain,
          plannedAt: time(plannedAt),
          gasPriceBaseUnits: plan.gasPrice,
          budgetLeftBaseUnits: plan.budgetLeft,
          begin: plan.begin.map(({ amount, cost, ...sweep }) => ({
            ...sweep,
            amountBaseUnits: amount,
            amount: assets.display(chain, sweep.symbol, BigInt(amount)),
            costBaseUnits: cost,
            cost: assets.display(chain, native, BigInt(cost)),
          })),
          toCold: plan.toCold.map(({ symbol, amount }) => ({
            symbol,
            amountBaseUnits: amount,
            amount: assets.display(chain, symbol, BigInt(amount)),
          })),
          waiting: Object.entries(plan.waiting).map(([reason, count]) => ({ reason, count })),
          pause: pause === undefined ? null : showPause(pause),
        };
      });
    },
    async pauseSweeps({ tx, operator }, { chain, reason }) {
      assets.requireNetwork(chain);
      const pause = await insertSweepPause(tx, { chain, operator: operator.operatorId, reason });
      if (pause === undefined) throw refuse('STATE_CONFLICT', `The sweeps of ${chain} are paused already.`);
      return { answer: { chain, pause: showPause(pause) } };
    },
    async resumeSweeps({ tx }, { chain }) {
      if (!(await deleteSweepPause(tx, chain)))
        throw refuse('STATE_CONFLICT', `The sweeps of ${chain} are not paused.`);
      return { answer: { chain, pause: null } };
    },
    async runSweeps({ tx, operator }, { chain }) {
      assets.requireNetwork(chain);
      const requestId = await insertSweepRequest(tx, chain, operator.operatorId);
      return { answer: { chain, requestId }, subject: chain };
    },
  };
}

function showPause({
  operator,
  reason,
  pausedAt,
}: SweepPauseRow): NonNullable<OpsAnswer<'pauseSweeps'>['pause']> {
  return { operator, reason, pausedAt: time(pausedAt) };
}
