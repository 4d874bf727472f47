import { chainStatusText } from '@opentill/domain/chain-status';
import type { CliContext } from '../../context.ts';
import { openOps } from '../../ops-client.ts';
import { tableLine } from '../../print-table.ts';
import { chainOf, optional } from './read-options.ts';

const SHOWN_MAX = 1_000;

/** Which of them: all, or open ones alone. */
export interface ShowOptions {
  readonly all?: boolean;
  readonly chain?: string;
}

const filterOf = ({ all, chain }: ShowOptions) => ({
  ...optional('chain', chainOf(chain)),
  ...(all === true ? {} : { open: true }),
});

/** Shows kill switches. */
export async function listHalts(context: CliContext, options: ShowOptions): Promise<void> {
  const ops = await openOps(context);
  for (const h of await ops.list('listHalts', filterOf(options), SHOWN_MAX)) {
    context.print(
      tableLine([
        h.haltId,
        h.chain,
        h.wallet ?? 'every wallet',
        h.kind,
        h.setAt,
        h.setBy,
        h.reason,
        h.releasedAt,
        h.releasedBy,
      ]),
    );
  }
}

/** Stops all new payouts of a chain, or of one hot wallet. */
export async function setHalt(
  context: CliContext,
  options: { readonly chain: string; readonly wallet?: string; readonly reason: string },
): Promise<void> {
  const ops = await openOps(context);
  const what = {
    chain: chainOf(options.chain),
    reason: options.reason,
    ...optional('wallet', options.wallet),
  };
  const { haltId, chain } = await ops.call('setHalt', what);
  context.print(`Nothing new is signed on ${chain} from now on; what is signed goes on. Halt ${haltId}.`);
}

/** Lets payouts go on. */
export async function releaseHalt(
  context: CliContext,
  haltId: string,
  { reason }: { reason: string },
): Promise<void> {
  const { chain } = await (await openOps(context)).call('releaseHalt', { haltId, reason });
  context.print(`Released; payouts on ${chain} go on unless another halt or hold stands.`);
}

/** Shows assets whose payouts are held. */
export async function listHolds(context: CliContext, options: ShowOptions): Promise<void> {
  const ops = await openOps(context);
  for (const h of await ops.list('listHolds', filterOf(options), SHOWN_MAX)) {
    context.print(
      tableLine([
        h.holdId,
        h.chain,
        h.symbol,
        h.setAt,
        h.setBy ?? 'the gateway',
        h.reason,
        h.incidentId,
        h.releasedAt,
        h.releasedBy,
      ]),
    );
  }
}

/** Holds the payouts of an asset. */
export async function setHold(
  context: CliContext,
  options: { readonly chain: string; readonly symbol: string; readonly reason: string },
): Promise<void> {
  const { symbol, reason } = options;
  const hold = await (
    await openOps(context)
  ).call('setHold', { chain: chainOf(options.chain), symbol, reason });
  context.print(`Payouts of ${hold.symbol} on ${hold.chain} are held. Hold ${hold.holdId}.`);
}

/** Lets the payouts of an asset go on. */
export async function releaseHold(
  context: CliContext,
  holdId: string,
  { reason }: { reason: string },
): Promise<void> {
  const { chain, symbol } = await (await openOps(context)).call('releaseHold', { holdId, reason });
  context.print(`Released; payouts of ${symbol} on ${chain} go on unless another hold or halt stands.`);
}

/** Shows incidents. */
export async function listIncidents(context: CliContext, options: ShowOptions): Promise<void> {
  const ops = await openOps(context);
  for (const i of await ops.list('listIncidents', filterOf(options), SHOWN_MAX)) {
    context.print(
      tableLine([
        i.incidentId,
        i.kind,
        i.chain,
        i.symbol,
        i.openedAt,
        i.orderPk,
        JSON.stringify(i.details),
        i.closedAt,
        i.closedBy,
      ]),
    );
  }
}

/** Closes an incident. */
export async function closeIncident(
  context: CliContext,
  incidentId: string,
  { reason }: { reason: string },
): Promise<void> {
  const { kind } = await (await openOps(context)).call('closeIncident', { incidentId, reason });
  context.print(`Closed: ${kind}. A hold that it set stays until it is released.`);
}

/** Shows the chains: the state of each, how far it is read, and by whom. */
export async function listChains(context: CliContext): Promise<void> {
  for (const c of await (await openOps(context)).call('listChains', {})) {
    const read =
      c.cursor === null
        ? 'never read'
        : `read to ${c.cursor.seenHeight} (${c.cursor.lagBlocks} behind), verified ${c.cursor.verifiedHeight}, ${Math.round(c.cursor.ageSeconds)} s ago`;
    const by = c.scanner === null || c.scanner.expired ? 'nobody reads it' : `by ${c.scanner.holder}`;
    const pause = c.pause === null ? '' : `paused by ${c.pause.operator}: ${c.pause.reason}`;
    context.print(
      tableLine([
        c.chain,
        c.enabled ? 'enabled' : 'disabled',
        chainStatusText(c.status),
        read,
        by,
        pause,
        c.endpoints.join(' '),
      ]),
    );
  }
}

/** Stops or goes on reading a chain. */
export async function pauseChain(
  context: CliContext,
  chain: string,
  { reason }: { reason: string },
): Promise<void> {
  await (await openOps(context)).call('pauseChain', { chain: chainOf(chain), reason });
  context.print(`${chain} is not read from now on: nothing of it is seen, credited or expires.`);
}

export async function resumeChain(
  context: CliContext,
  chain: string,
  { reason }: { reason: string },
): Promise<void> {
  await (await openOps(context)).call('resumeChain', { chain: chainOf(chain), reason });
  context.print(`${chain} is read again, from where it was left.`);
}
