import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import { usage, type CliContext } from '../../context.ts';
import type { Reason } from '../../add-command.ts';
import { callOps, printList } from '../../ops-client.ts';
import { FAMILY_CODECS } from '../../families.ts';
import { tableLine } from '../../print-table.ts';
import { chainOf, shownOf, type ShowOptions } from './read-options.ts';

const SHOWN_MAX = 1_000;

/** Shows what would be swept now, for how much, and why the rest waits. */
export async function showSweepPlan(
  context: CliContext,
  { chain }: { readonly chain?: string },
): Promise<void> {
  const wanted = chainOf(chain);
  const plans = (await callOps(context, 'listSweepPlans', {})).filter(
    (plan) => wanted === undefined || plan.chain === wanted,
  );
  if (plans.length === 0)
    context.print('Nothing is swept: the policy says nothing of it, or no signer has planned yet.');
  for (const plan of plans) printPlan(context, plan);
}

function printPlan(context: CliContext, plan: OpsAnswer<'listSweepPlans'>[number]): void {
  const { nativeSymbol } = plan;
  const coin = (shown: string | null, baseUnits: string) => `${shown ?? baseUnits} ${nativeSymbol}`;
  const paused = plan.pause === null ? '' : `; PAUSED by ${plan.pause.operator}: ${plan.pause.reason}`;
  const left = coin(plan.budgetLeft, plan.budgetLeftBaseUnits);
  context.print(
    `${plan.chain}: ${plan.begin.length} to begin at ${plan.plannedAt}; ${left} of the day's budget left${paused}`,
  );
  for (const sweep of plan.begin)
    context.print(
      tableLine([
        `  ${sweep.address}`,
        `${sweep.amount ?? sweep.amountBaseUnits} ${sweep.symbol}`,
        `to ${sweep.destination === 'COLD' ? 'cold storage' : 'the hot wallet'}`,
        sweep.method,
        `at most ${coin(sweep.cost, sweep.costBaseUnits)}`,
        sweep.topUpBaseUnits === '0' ? null : `${coin(sweep.topUp, sweep.topUpBaseUnits)} brought before`,
      ]),
    );
  for (const { symbol, amount, amountBaseUnits, cost, costBaseUnits } of plan.toCold)
    context.print(
      `  hot wallet: ${amount ?? amountBaseUnits} ${symbol} above its float, to cold storage, at most ${coin(cost, costBaseUnits)}`,
    );
  if (plan.begin.length + plan.toCold.length > 0)
    context.print(
      `  in all at most ${coin(plan.totalCost, plan.totalCostBaseUnits)}; ${coin(plan.totalTopUp, plan.totalTopUpBaseUnits)} brought before, of which the fees are paid`,
    );
  for (const { reason, count } of plan.waiting) context.print(`  ${count} wait: ${reason}`);
}

/** Shows sweeps with their movements. */
export async function listSweeps(context: CliContext, options: ShowOptions): Promise<void> {
  await printList(context, 'listSweeps', shownOf(options), SHOWN_MAX, (sweep) => [
    sweep.sweepId,
    sweep.chain,
    sweep.address,
    `${sweep.amount ?? sweep.amountBaseUnits} ${sweep.symbol}`,
    sweep.destination,
    sweep.method,
    sweep.state,
    sweep.movements.map(({ kind, money, obstacle }) => `${kind} ${obstacle ?? money}`).join(', '),
    rentOf(sweep),
    sweep.reason,
    sweep.plannedAt,
  ]);
}

/** What was paid for energy, and by what name its seller knows that. */
function rentOf({ rentCost, rentCostBaseUnits, rentRef }: OpsAnswer<'listSweeps'>): string | null {
  if (rentCostBaseUnits === null) return null;
  return `energy for ${rentCost ?? rentCostBaseUnits}${rentRef === null ? '' : `, order ${rentRef}`}`;
}

interface ActOnChain extends Reason {
  readonly chain: string;
}

/** Has young money swept too, once. */
export async function runSweeps(context: CliContext, { chain, reason }: ActOnChain): Promise<void> {
  const asked = await callOps(context, 'runSweeps', { chain: chainOf(chain), reason });
  context.print(
    `Asked for. What the policy allows on ${asked.chain} is swept now; see \`opentill sweep list --all\`.`,
  );
}

export async function pauseSweeps(context: CliContext, { chain, reason }: ActOnChain): Promise<void> {
  await callOps(context, 'pauseSweeps', { chain: chainOf(chain), reason });
  context.print(`No sweep begins on ${chain} from now on; what has begun is ended.`);
}

export async function resumeSweeps(context: CliContext, { chain, reason }: ActOnChain): Promise<void> {
  await callOps(context, 'resumeSweeps', { chain: chainOf(chain), reason });
  context.print(`Sweeps begin again on ${chain}.`);
}

/** Shows money on deposit addresses that no order could take. */
export async function listUnmatched(
  context: CliContext,
  { reason, ...options }: ShowOptions & Partial<Reason>,
): Promise<void> {
  const filter = { ...shownOf(options), reason: reason as 'LATE' | undefined };
  await printList(context, 'listUnmatchedDeposits', filter, SHOWN_MAX, ({ transfer, ...deposit }) => [
    String(transfer.transferId),
    deposit.reason,
    transfer.chain,
    `${transfer.amount ?? transfer.amountBaseUnits} ${transfer.symbol}`,
    deposit.leftBaseUnits === transfer.amountBaseUnits
      ? null
      : `${deposit.left ?? deposit.leftBaseUnits} left`,
    `order ${deposit.orderId} of ${deposit.merchantId}: ${deposit.orderStatus}`,
    transfer.to,
    transfer.txHash,
    deposit.createdAt,
  ]);
}

/** Takes an unmatched deposit for the order of its address; the tracker carries it out. */
export async function acceptUnmatched(
  context: CliContext,
  id: string,
  { as: worth, reason }: Reason & { readonly as?: string },
): Promise<void> {
  const transferId = transferNumber(id);
  const accepted = await callOps(context, 'acceptDeposit', { transferId, reason, worth });
  const { orderId, merchantId, decisionId, symbol, worth: counts } = accepted;
  const what = counts === null ? ' with what came' : `, and it counts as ${counts} ${symbol}`;
  context.print(
    `Order ${orderId} of ${merchantId} is accepted${what} (${decisionId}); the tracker carries it out within seconds.`,
  );
}

function transferNumber(text: string): number {
  if (/^[1-9][0-9]{0,15}$/.test(text)) return Number(text);
  throw usage(`${text} is no number of a deposit: \`opentill unmatched list\` shows them first.`);
}

/** Gives an unmatched deposit back. */
export async function refundUnmatched(
  context: CliContext,
  id: string,
  { to, amount, reason }: Reason & { readonly to: string; readonly amount?: string },
): Promise<void> {
  // A letter that was mistyped is found by whoever has the checksum: before anybody is asked to approve it.
  if (!FAMILY_CODECS.some((codec) => codec.parse(to) !== undefined))
    throw usage(`--to: ${to} is no address.`);
  const transferId = transferNumber(id);
  const refund = await callOps(context, 'refundDeposit', { transferId, receiver: to, reason, amount });
  context.print(
    `${refund.amountBaseUnits} base units of ${refund.symbol} to ${refund.receiver}: payout ${refund.orderPk}. Where the policy has approvers it waits for them.`,
  );
}
