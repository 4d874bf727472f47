import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from '@opentill/db/database';
import { GatewayError } from '@opentill/domain/gateway-error';
import {
  chooseCallbacks,
  countChosen,
  REPLAYABLE_STATES,
  replayCallbacks,
  type CallbackChoice,
  type ReplayableState,
  type ReplayOutcome,
} from '../callback-store.ts';
import type { CliContext, CliErrorCode } from '../context.ts';
import { withOpsDatabase } from '../open-ops-database.ts';
import { parseMoment } from '../parse-moment.ts';
import { replayDelivery } from '../store.ts';
import { SETTINGS_MERCHANT_ID } from './settings-merchant.ts';

const EVENT_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const BATCH_MAX = 500;
const DEFAULT_RATE = 100;
const STATES: Readonly<Record<string, readonly ReplayableState[]>> = {
  dead: ['DEAD'],
  delivered: ['DELIVERED'],
  any: REPLAYABLE_STATES,
};
const LEFT: readonly (readonly [ReplayOutcome, string])[] = [
  [
    'NEWER_SENT',
    'left alone: a newer callback of their order was sent after them (--event sends one all the same)',
  ],
  [
    'NO_ENDPOINT',
    'left alone: their merchant has no callback URL, or a disabled endpoint (opentill webhook enable)',
  ],
  ['WAITING', 'wait already'],
  ['OTHER_STATE', 'have changed meanwhile'],
];

/** The options of `webhook replay`, as typed. */
export interface ReplayOptions {
  readonly event?: string;
  readonly order?: string;
  readonly merchant?: string;
  readonly since?: string;
  readonly until?: string;
  readonly state?: string;
  readonly rate?: string;
  readonly dryRun?: boolean;
}

/**
 * Makes callbacks due again: one by its event id, whatever became of it; or those of an order, a merchant or a time, in
 * the order in which they happened and so many a second. They carry the same nonce as before.
 * @throws GatewayError CLI_USAGE, NOT_FOUND
 */
export async function replayWebhook(context: CliContext, options: ReplayOptions): Promise<void> {
  if (options.event !== undefined) return replayOne(context, options.event, options);
  const choice = readChoice(context, options);
  const perSecond = readRate(options.rate);
  await withOpsDatabase(context, async ({ kysely }) => {
    const counts = await countChosen(kysely, choice);
    const total = counts.reduce((sum, { count }) => sum + count, 0);
    if (total === 0)
      throw refuse('NOT_FOUND', 'No such callback has been queued for delivery yet, or all wait already.');
    if (options.dryRun === true) {
      const parts = counts.map(({ state, count }) => `${count} ${state.toLowerCase()}`);
      context.print(`${total} callbacks are meant: ${parts.join(', ')}. Nothing was done.`);
      return;
    }
    printOutcomes(context, total, await replayChoice(kysely, choice, perSecond));
  });
}

async function replayOne(context: CliContext, eventId: string, options: ReplayOptions): Promise<void> {
  const { order, since, until, state, dryRun } = options;
  if ([order, since, until, state, dryRun].some((option) => option !== undefined)) {
    throw refuse(
      'CLI_USAGE',
      '--event stands alone: give either --event or --order, --merchant, --since, --until.',
    );
  }
  if (!EVENT_ID.test(eventId)) throw refuse('CLI_USAGE', `${eventId} is not the nonce of a callback.`);
  await withOpsDatabase(context, async ({ kysely }) => {
    if (!(await replayDelivery(kysely, eventId))) {
      throw refuse('NOT_FOUND', 'No such callback has been queued for delivery yet.');
    }
    context.print('1 of 1 callbacks are due again.');
  });
}

function readChoice(context: CliContext, options: ReplayOptions): CallbackChoice {
  const { order, merchant, since, until } = options;
  if (order === undefined && merchant === undefined && since === undefined && until === undefined) {
    throw refuse('CLI_USAGE', 'Give either --event or --order, --merchant, --since, --until.');
  }
  const states = STATES[options.state ?? (order === undefined ? 'dead' : 'any')];
  if (states === undefined) throw refuse('CLI_USAGE', '--state must be dead, delivered or any.');
  const moment = (option: string, text: string | undefined) =>
    text === undefined ? undefined : parseMoment(option, text, context.clock.now());
  return {
    merchantId: merchant ?? (order === undefined ? undefined : SETTINGS_MERCHANT_ID),
    orderId: order,
    since: moment('--since', since),
    until: moment('--until', until),
    states,
  };
}

function readRate(text = String(DEFAULT_RATE)): number {
  const rate = Number(text);
  if (/^\d{1,5}$/.test(text) && rate > 0) return rate;
  throw refuse('CLI_USAGE', '--rate must be a number of callbacks a second, from 1 to 99999.');
}

/** In pages from the oldest on, so that a choice of any size is done at its rate, and locks few rows at a time. */
async function replayChoice(
  db: Db,
  choice: CallbackChoice,
  perSecond: number,
): Promise<ReadonlyMap<ReplayOutcome, number>> {
  const outcomes = new Map<ReplayOutcome, number>();
  const limit = Math.min(perSecond, BATCH_MAX);
  for (let page = await chooseCallbacks(db, choice, undefined, limit); page.length > 0;) {
    const ids = page.map(({ eventId }) => eventId);
    for (const outcome of await replayCallbacks(db, ids, choice)) {
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
    if (page.length < limit) break;
    await pause((1_000 * page.length) / perSecond);
    page = await chooseCallbacks(db, choice, page.at(-1), limit);
  }
  return outcomes;
}

function printOutcomes(
  context: CliContext,
  total: number,
  outcomes: ReadonlyMap<ReplayOutcome, number>,
): void {
  context.print(`${outcomes.get('REPLAYED') ?? 0} of ${total} callbacks are due again.`);
  for (const [outcome, words] of LEFT) {
    const count = outcomes.get(outcome);
    if (count !== undefined) context.print(`${count} ${words}.`);
  }
}

function refuse(code: CliErrorCode, message: string): GatewayError<CliErrorCode> {
  return new GatewayError(code, message, { retryable: false });
}
