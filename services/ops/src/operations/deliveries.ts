import type { Handlers } from '../handlers.ts';
import { dateOf, keyAfter, PAGE_SIZE, pageOf } from '../page.ts';
import { notFound, opsError } from '../ops-error.ts';
import { time, timeOrNull } from '../format.ts';
import {
  chooseCallbacks,
  countChosen,
  findDeliveries,
  replayCallbacks,
  replayDelivery,
  type CallbackChoice,
  type ReplayableState,
  type ReplayPosition,
} from '../store/callbacks.ts';
import type { OpsDeps } from './ops-deps.ts';

const STATES = {
  DEAD: ['DEAD'],
  DELIVERED: ['DELIVERED'],
  ANY: ['DEAD', 'DELIVERED', 'SUPERSEDED'],
} as const satisfies Readonly<Record<string, readonly ReplayableState[]>>;
const REPLAY_DEFAULT = 100;
const POSITION =
  /^((\d{4}-\d\d-\d\d) (?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?[+-](?:0\d|1[0-4])(?::[0-5]\d)?) ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

interface Choice {
  readonly merchantId?: string;
  readonly orderId?: string;
  readonly since?: string;
  readonly until?: string;
  readonly states?: keyof typeof STATES;
}

type DeliveryOperation = 'listDeliveries' | 'countReplay' | 'replayDelivery' | 'replayDeliveries';

export function deliveryHandlers({ db }: OpsDeps): Pick<Handlers, DeliveryOperation> {
  return {
    async listDeliveries({ limit = PAGE_SIZE, cursor, ...filter }) {
      const rows = await findDeliveries(db, filter, keyAfter(cursor, 'uuid'), limit + 1);
      return pageOf(
        rows,
        limit,
        (row) => row.eventId,
        (row) => ({
          ...row,
          occurredAt: time(row.occurredAt),
          nextAttemptAt: timeOrNull(row.nextAttemptAt),
          finishedAt: timeOrNull(row.finishedAt),
        }),
      );
    },
    countReplay: async (input) => countChosen(db, choiceOf(input)),
    async replayDelivery({ tx }, { eventId }) {
      if (!(await replayDelivery(tx, eventId))) {
        throw notFound(`queued callback ${eventId}`);
      }
      return { answer: { eventId } };
    },
    async replayDeliveries({ tx }, { limit = REPLAY_DEFAULT, after, ...input }) {
      const choice = choiceOf(input);
      const page = await chooseCallbacks(tx, choice, positionOf(after), limit);
      const outcomes: Record<string, number> = {};
      const ids = page.map(({ eventId }) => eventId);
      for (const outcome of await replayCallbacks(tx, ids, choice)) {
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      }
      const last = page.length < limit ? undefined : page.at(-1);
      const next = last === undefined ? null : cursorOf(last);
      return {
        answer: { outcomes, next },
        subject: input.orderId ?? input.merchantId ?? 'time',
        details: { outcomes },
      };
    },
  };
}

function choiceOf({ merchantId, orderId, since, until, states }: Choice): CallbackChoice {
  if ([merchantId, orderId, since, until].every((given) => given === undefined)) {
    throw opsError('INPUT_INVALID', 'Give at least one of merchantId, orderId, since and until.');
  }
  return {
    merchantId,
    orderId,
    since: dateOf(since),
    until: dateOf(until),
    states: STATES[states ?? (orderId === undefined ? 'DEAD' : 'ANY')],
  };
}

function cursorOf({ occurredAt, eventId }: ReplayPosition): string {
  return Buffer.from(`${occurredAt} ${eventId}`, 'utf8').toString('base64url');
}

function positionOf(after: string | undefined): ReplayPosition | undefined {
  if (after === undefined) return undefined;
  const text = Buffer.from(after, 'base64url').toString('utf8');
  const [, occurredAt, day, eventId] = POSITION.exec(text) ?? [];
  if (occurredAt !== undefined && isDay(day) && eventId !== undefined) return { occurredAt, eventId };
  throw opsError('CURSOR_INVALID', 'Set after to next of the previous response.');
}

/** JavaScript's Date would roll February 30 over to March. */
function isDay(day = ''): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return day >= '0001' && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
