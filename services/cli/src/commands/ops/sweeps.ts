import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import { usage, type CliContext } from '../../context.ts';
import type { Reason } from '../../add-command.ts';
import { callOps, printList } from '../../ops-client.ts';
import { FAMILY_CODECS } from '../../families.ts';
import { tableLine } from '../../print-table.ts';
import { parseChain, shownOf, type ShowOptions } from './read-options.ts';

const LIST_MAX = 1_000;

export async function showSweepPlan(
  context: CliContext,
  { chain }: { readonly chain?: string },
): Promise<void> {
  const wanted = parseChain(chain);
  const plans = (await callOps(context, 'listSweepPlans', {})).filter(
    (plan) => wanted === undefined || plan.chain === wanted,
  );
  if (plans.length === 0)
    context.print('Nothing is swept: the policy has no sweeps, or no signer has planned yet.');
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
        sweep.topUpBaseUnits === '0' ? null : `${coin(sweep.topUp, sweep.topUpBaseUnits)} top-up before`,
      ]),
    );
  for (const { symbol, amount, amountBaseUnits, cost, costBaseUnits } of plan.toCold)
    context.print(
      `  hot wallet: ${amount ?? amountBaseUnits} ${symbol} above its float, to cold storage, at most ${coin(cost, costBaseUnits)}`,
    );
  if (plan.begin.length + plan.toCold.length > 0)
    context.print(
      `  in total at most ${coin(plan.totalCost, plan.totalCostBaseUnits)}; ${coin(plan.totalTopUp, plan.totalTopUpBaseUnits)} of top-ups before, which pay the fees`,
    );
  for (const { reason, count } of plan.waiting) context.print(`  ${count} wait: ${reason}`);
}

export async function listSweeps(context: CliContext, options: ShowOptions): Promise<void> {
  await printList(context, 'listSweeps', shownOf(options), LIST_MAX, (sweep) => [
    sweep.sweepId,
    sweep.chain,
    sweep.address,
    `${sweep.amount ?? sweep.amountBaseUnits} ${sweep.symbol}`,
    sweep.destination,
    sweep.method,
    sweep.state,
    sweep.movements.map(({ kind, money, obstacle }) => `${kind} ${obstacle ?? money}`).join(', '),
    describeRent(sweep),
    sweep.reason,
    sweep.plannedAt,
  ]);
}

function describeRent({ rentCost, rentCostBaseUnits, rentRef }: OpsAnswer<'listSweeps'>): string | null {
  if (rentCostBaseUnits === null) return null;
  return `energy for ${rentCost ?? rentCostBaseUnits}${rentRef === null ? '' : `, order ${rentRef}`}`;
}

interface ActOnChain extends Reason {
  readonly chain: string;
}

/** Also sweeps young money. */
export async function runSweeps(context: CliContext, { chain, reason }: ActOnChain): Promise<void> {
  const asked = await callOps(context, 'runSweeps', { chain: parseChain(chain), reason });
  context.print(
    `Requested. Everything that the policy allows on ${asked.chain} is swept now; see \`opentill sweep list --all\`.`,
  );
}

export async function pauseSweeps(context: CliContext, { chain, reason }: ActOnChain): Promise<void> {
  await callOps(context, 'pauseSweeps', { chain: parseChain(chain), reason });
  context.print(`No sweep begins on ${chain} from now on; running sweeps are completed.`);
}

export async function resumeSweeps(context: CliContext, { chain, reason }: ActOnChain): Promise<void> {
  await callOps(context, 'resumeSweeps', { chain: parseChain(chain), reason });
  context.print(`Sweeps begin again on ${chain}.`);
}

export async function listUnmatched(
  context: CliContext,
  { reason, ...options }: ShowOptions & Partial<Reason>,
): Promise<void> {
  const filter = { ...shownOf(options), reason: reason as 'LATE' | undefined };
  await printList(context, 'listUnmatchedDeposits', filter, LIST_MAX, ({ transfer, ...deposit }) => [
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

/** Assigns a deposit to the order of its address. The tracker carries it out. */
export async function acceptUnmatched(
  context: CliContext,
  id: string,
  { as: worth, reason }: Reason & { readonly as?: string },
): Promise<void> {
  const transferId = transferNumber(id);
  const accepted = await callOps(context, 'acceptDeposit', { transferId, reason, worth });
  const { orderId, merchantId, decisionId, symbol, worth: counts } = accepted;
  const what = counts === null ? ' with the received amount' : `, and it counts as ${counts} ${symbol}`;
  context.print(
    `Order ${orderId} of ${merchantId} is accepted${what} (${decisionId}); the tracker carries it out within seconds.`,
  );
}

function transferNumber(text: string): number {
  if (/^[1-9][0-9]{0,15}$/.test(text)) return Number(text);
  throw usage(`${text} is not a deposit number: the first column of \`opentill unmatched list\` shows them.`);
}

export async function refundUnmatched(
  context: CliContext,
  id: string,
  { to, amount, reason }: Reason & { readonly to: string; readonly amount?: string },
): Promise<void> {
  // The address checksum finds a typing error before any approver is asked.
  if (!FAMILY_CODECS.some((codec) => codec.parse(to) !== undefined))
    throw usage(`--to: ${to} is not a valid address.`);
  const transferId = transferNumber(id);
  const refund = await callOps(context, 'refundDeposit', { transferId, receiver: to, reason, amount });
  context.print(
    `${refund.amountBaseUnits} base units of ${refund.symbol} to ${refund.receiver}: payout ${refund.orderPk}. If the policy has approvers, it waits for them.`,
  );
}
