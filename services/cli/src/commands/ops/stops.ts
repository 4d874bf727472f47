import { chainStatusText } from '@opentill/domain/chain-status';
import type { Reason } from '../../add-command.ts';
import type { CliContext } from '../../context.ts';
import { callOps, printList } from '../../ops-client.ts';
import { tableLine } from '../../print-table.ts';
import { parseChain, shownOf, type ShowOptions } from './read-options.ts';

const LIST_MAX = 1_000;

export async function listHalts(context: CliContext, options: ShowOptions): Promise<void> {
  await printList(context, 'listHalts', shownOf(options), LIST_MAX, (h) => [
    h.haltId,
    h.chain,
    h.wallet ?? 'every wallet',
    h.kind,
    h.setAt,
    h.setBy,
    h.reason,
    h.releasedAt,
    h.releasedBy,
  ]);
}

export async function setHalt(
  context: CliContext,
  { chain, wallet, reason }: Reason & { readonly chain: string; readonly wallet?: string },
): Promise<void> {
  const halt = await callOps(context, 'setHalt', { chain: parseChain(chain), reason, wallet });
  context.print(
    `No new transaction is signed on ${halt.chain} from now on; signed ones continue. Halt ${halt.haltId}.`,
  );
}

export async function releaseHalt(context: CliContext, haltId: string, { reason }: Reason): Promise<void> {
  const { chain } = await callOps(context, 'releaseHalt', { haltId, reason });
  context.print(`Released; payouts on ${chain} continue unless another halt or hold is in force.`);
}

export async function listHolds(context: CliContext, options: ShowOptions): Promise<void> {
  await printList(context, 'listHolds', shownOf(options), LIST_MAX, (h) => [
    h.holdId,
    h.chain,
    h.symbol,
    h.setAt,
    h.setBy ?? 'the gateway',
    h.reason,
    h.incidentId,
    h.releasedAt,
    h.releasedBy,
  ]);
}

export async function setHold(
  context: CliContext,
  { chain, symbol, reason }: Reason & { readonly chain: string; readonly symbol: string },
): Promise<void> {
  const hold = await callOps(context, 'setHold', { chain: parseChain(chain), symbol, reason });
  context.print(`Payouts of ${hold.symbol} on ${hold.chain} are held. Hold ${hold.holdId}.`);
}

export async function releaseHold(context: CliContext, holdId: string, { reason }: Reason): Promise<void> {
  const { chain, symbol } = await callOps(context, 'releaseHold', { holdId, reason });
  context.print(
    `Released; payouts of ${symbol} on ${chain} continue unless another hold or halt is in force.`,
  );
}

export async function listIncidents(context: CliContext, options: ShowOptions): Promise<void> {
  await printList(context, 'listIncidents', shownOf(options), LIST_MAX, (i) => [
    i.incidentId,
    i.kind,
    i.chain,
    i.symbol,
    i.openedAt,
    i.orderPk,
    JSON.stringify(i.details),
    i.closedAt,
    i.closedBy,
  ]);
}

export async function closeIncident(
  context: CliContext,
  incidentId: string,
  { reason }: Reason,
): Promise<void> {
  const { kind } = await callOps(context, 'closeIncident', { incidentId, reason });
  context.print(`Closed: ${kind}. A hold that it set remains until it is released.`);
}

export async function listChains(context: CliContext): Promise<void> {
  for (const c of await callOps(context, 'listChains', {})) {
    const read =
      c.cursor === null
        ? 'never read'
        : `read to ${c.cursor.seenHeight} (${c.cursor.lagBlocks} behind), verified ${c.cursor.verifiedHeight}, ${Math.round(c.cursor.ageSeconds)} s ago`;
    const by = c.scanner === null || c.scanner.expired ? 'no scanner reads it' : `by ${c.scanner.holder}`;
    const pause = c.pause === null ? '' : `paused by ${c.pause.operator}: ${c.pause.reason}`;
    const isEnabled = c.enabled ? 'enabled' : 'disabled';
    const status = chainStatusText(c.status);
    context.print(tableLine([c.chain, isEnabled, status, read, by, pause, c.endpoints.join(' ')]));
  }
}

export async function pauseChain(context: CliContext, chain: string, { reason }: Reason): Promise<void> {
  await callOps(context, 'pauseChain', { chain: parseChain(chain), reason });
  context.print(`${chain} is not read from now on: no payment is seen or credited, and no order expires.`);
}

export async function resumeChain(context: CliContext, chain: string, { reason }: Reason): Promise<void> {
  await callOps(context, 'resumeChain', { chain: parseChain(chain), reason });
  context.print(`${chain} is read again, from where it stopped.`);
}
