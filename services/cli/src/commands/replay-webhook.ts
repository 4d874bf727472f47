import { setTimeout as pause } from 'node:timers/promises';
import type { OpsInput } from '@opentill/contracts/ops/catalog';
import { SETTINGS_MERCHANT_ID } from '@opentill/contracts/ops/fields';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Typed } from '../add-command.ts';
import { notFound, usage, type CliContext } from '../context.ts';
import { openOps, type Given, type OpsClient } from '../ops-client.ts';
import { parseOptionalTime } from '../parse-moment.ts';

type Choice = Given<OpsInput<'countReplay'>>;

const EVENT_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const BATCH_MAX = 500;
const DEFAULT_RATE = 100;
const STATES: Readonly<Record<string, NonNullable<OpsInput<'countReplay'>['states']>>> = {
  dead: 'DEAD',
  delivered: 'DELIVERED',
  any: 'ANY',
};
const OUTCOME_TEXTS: readonly (readonly [string, string])[] = [
  ['NEWER_SENT', 'skipped: a newer callback of their order was sent after them (--event sends one anyway)'],
  [
    'NO_ENDPOINT',
    'skipped: their merchant has no callback URL, or a disabled endpoint (opentill webhook enable)',
  ],
  ['WAITING', 'are already waiting'],
  ['OTHER_STATE', 'changed in the meantime'],
];

export interface ReplayOptions extends Typed<
  'event' | 'order' | 'merchant' | 'since' | 'until' | 'state' | 'rate'
> {
  readonly dryRun?: boolean;
}

/** Callbacks keep their nonces. Several go out in order of occurrence, at a limited rate per second. */
export async function replayWebhook(context: CliContext, options: ReplayOptions): Promise<void> {
  if (options.event !== undefined) return replayOne(context, options.event, options);
  const choice = readChoice(context, options);
  const perSecond = readRate(options.rate);
  const ops = await openOps(context);
  const counts = await ops.call('countReplay', choice);
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  if (total === 0)
    throw notFound('No such callback was queued for delivery yet, or all are already waiting.');
  if (options.dryRun === true) {
    const parts = counts.map(({ state, count }) => `${count} ${state.toLowerCase()}`);
    context.print(`${total} callbacks match: ${parts.join(', ')}. Nothing was done.`);
    return;
  }
  printOutcomes(context, total, await replayChoice(ops, choice, perSecond));
}

async function replayOne(context: CliContext, eventId: string, options: ReplayOptions): Promise<void> {
  const { order, since, until, state, dryRun } = options;
  if ([order, since, until, state, dryRun].some((option) => option !== undefined)) {
    throw usage(
      '--event allows no other filter: give either --event or --order, --merchant, --since, --until.',
    );
  }
  if (!EVENT_ID.test(eventId)) throw usage(`${eventId} is not the nonce of a callback.`);
  const ops = await openOps(context);
  await ops.call('replayDelivery', { eventId: eventId.toLowerCase() }).catch((error: unknown) => {
    if (!(error instanceof GatewayError) || error.code !== 'NOT_FOUND') throw error;
    throw notFound('No such callback was queued for delivery yet.');
  });
  context.print('1 of 1 callbacks are due again.');
}

function readChoice(context: CliContext, options: ReplayOptions): Choice {
  const { order, merchant, since, until } = options;
  if (order === undefined && merchant === undefined && since === undefined && until === undefined) {
    throw usage('Give either --event or --order, --merchant, --since, --until.');
  }
  const states = STATES[options.state ?? (order === undefined ? 'dead' : 'any')];
  if (states === undefined) throw usage('--state must be dead, delivered or any.');
  const moment = (name: string, text: string | undefined) =>
    parseOptionalTime(context.clock.now(), name, text);
  return {
    states,
    merchantId: merchant ?? (order === undefined ? undefined : SETTINGS_MERCHANT_ID),
    orderId: order,
    since: moment('--since', since),
    until: moment('--until', until),
  };
}

function readRate(text = String(DEFAULT_RATE)): number {
  const rate = Number(text);
  if (/^\d{1,5}$/.test(text) && rate > 0) return rate;
  throw usage('--rate must be a number of callbacks a second, from 1 to 99999.');
}

/** Replays page by page, oldest first, to keep the rate and to lock few rows at a time. */
async function replayChoice(
  ops: OpsClient,
  choice: Choice,
  perSecond: number,
): Promise<ReadonlyMap<string, number>> {
  const all = new Map<string, number>();
  const limit = Math.min(perSecond, BATCH_MAX);
  for (let after: string | undefined; ; await pause((1_000 * limit) / perSecond)) {
    const page = await ops.call('replayDeliveries', { ...choice, limit, after });
    for (const [outcome, count] of Object.entries(page.outcomes)) {
      all.set(outcome, (all.get(outcome) ?? 0) + Number(count));
    }
    if (page.next === null) return all;
    after = page.next;
  }
}

function printOutcomes(context: CliContext, total: number, outcomes: ReadonlyMap<string, number>): void {
  context.print(`${outcomes.get('REPLAYED') ?? 0} of ${total} callbacks are due again.`);
  for (const [outcome, words] of OUTCOME_TEXTS) {
    const count = outcomes.get(outcome);
    if (count !== undefined) context.print(`${count} ${words}.`);
  }
}
