import { chainStatusText } from '@opentill/domain/chain-status';
import type { Reason } from '../../add-command.ts';
import type { CliContext } from '../../context.ts';
import { callOps, printList } from '../../ops-client.ts';
import { tableLine } from '../../print-table.ts';
import { chainOf, shownOf, type ShowOptions } from './read-options.ts';

const SHOWN_MAX = 1_000;

/** Shows kill switches. */
export async function listHalts(context: CliContext, options: ShowOptions): Promise<void> {
  await printList(context, 'listHalts', shownOf(options), SHOWN_MAX, (h) => [
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

/** Stops all new payouts of a chain, or of one hot wallet. */
export async function setHalt(
  context: CliContext,
  { chain, wallet, reason }: Reason & { readonly chain: string; readonly wallet?: string },
): Promise<void> {
  const halt = await callOps(context, 'setHalt', { chain: chainOf(chain), reason, wallet });
  context.print(
    `Nothing new is signed on ${halt.chain} from now on; what is signed goes on. Halt ${halt.haltId}.`,
  );
}

/** Lets payouts go on. */
export async function releaseHalt(context: CliContext, haltId: string, { reason }: Reason): Promise<void> {
  const { chain } = await callOps(context, 'releaseHalt', { haltId, reason });
  context.print(`Released; payouts on ${chain} go on unless another halt or hold stands.`);
}

/** Shows assets whose payouts are held. */
export async function listHolds(context: CliContext, options: ShowOptions): Promise<void> {
  await printList(context, 'listHolds', shownOf(options), SHOWN_MAX, (h) => [
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

/** Holds the payouts of an asset. */
export async function setHold(
  context: CliContext,
  { chain, symbol, reason }: Reason & { readonly chain: string; readonly symbol: string },
): Promise<void> {
  const hold = await callOps(context, 'setHold', { chain: chainOf(chain), symbol, reason });
  context.print(`Payouts of ${hold.symbol} on ${hold.chain} are held. Hold ${hold.holdId}.`);
}

/** Lets the payouts of an asset go on. */
export async function releaseHold(context: CliContext, holdId: string, { reason }: Reason): Promise<void> {
  const { chain, symbol } = await callOps(context, 'releaseHold', { holdId, reason });
  context.print(`Released; payouts of ${symbol} on ${chain} go on unless another hold or halt stands.`);
}

/** Shows incidents. */
export async function listIncidents(context: CliContext, options: ShowOptions): Promise<void> {
  await printList(context, 'listIncidents', shownOf(options), SHOWN_MAX, (i) => [
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

/** Closes an incident. */
export async function closeIncident(
  context: CliContext,
  incidentId: string,
  { reason }: Reason,
): Promise<void> {
  const { kind } = await callOps(context, 'closeIncident', { incidentId, reason });
  context.print(`Closed: ${kind}. A hold that it set stays until it is released.`);
}

/** Shows the chains: the state of each, how far it is read, and by whom. */
export async function listChains(context: CliContext): Promise<void> {
  for (const c of await callOps(context, 'listChains', {})) {
    const read =
      c.cursor === null
        ? 'never read'
        : `read to ${c.cursor.seenHeight} (${c.cursor.lagBlocks} behind), verified ${c.cursor.verifiedHeight}, ${Math.round(c.cursor.ageSeconds)} s ago`;
    const by = c.scanner === null || c.scanner.expired ? 'nobody reads it' : `by ${c.scanner.holder}`;
    const pause = c.pause === null ? '' : `paused by ${c.pause.operator}: ${c.pause.reason}`;
    const isEnabled = c.enabled ? 'enabled' : 'disabled';
    const status = chainStatusText(c.status);
    context.print(tableLine([c.chain, isEnabled, status, read, by, pause, c.endpoints.join(' ')]));
  }
}

/** Stops or goes on reading a chain. */
export async function pauseChain(context: CliContext, chain: string, { reason }: Reason): Promise<void> {
  await callOps(context, 'pauseChain', { chain: chainOf(chain), reason });
  context.print(`${chain} is not read from now on: nothing of it is seen, credited or expires.`);
}

export async function resumeChain(context: CliContext, chain: string, { reason }: Reason): Promise<void> {
  await callOps(context, 'resumeChain', { chain: chainOf(chain), reason });
  context.print(`${chain} is read again, from where it was left.`);
}
