import { describe, expect, test } from 'vitest';
import { GatewayError } from './gateway-error.ts';
import {
  COLLECTION_EVENTS,
  COLLECTION_STATUSES,
  COLLECTION_TRANSITIONS,
  PAYOUT_EVENTS,
  PAYOUT_STATUSES,
  PAYOUT_TRANSITIONS,
  isTerminal,
  nextStatus,
  type TransitionTable,
} from './order-status.ts';

function edges<S extends string, E extends string>(table: TransitionTable<S, E>): string[] {
  const found = new Set<string>();
  for (const from of Object.keys(table) as S[]) {
    for (const to of Object.values(table[from]) as S[]) if (to !== from) found.add(`${from} ${to}`);
  }
  return [...found].toSorted();
}

function reachable<S extends string, E extends string>(table: TransitionTable<S, E>, start: S): Set<S> {
  const seen = new Set<S>([start]);
  for (const status of seen) for (const to of Object.values(table[status]) as S[]) seen.add(to);
  return seen;
}

const TABLES = [
  {
    name: 'collection',
    table: COLLECTION_TRANSITIONS as TransitionTable<string, string>,
    statuses: COLLECTION_STATUSES as readonly string[],
    events: COLLECTION_EVENTS as readonly string[],
    terminal: ['SUCCESS', 'FAILED'],
  },
  {
    name: 'payout',
    table: PAYOUT_TRANSITIONS as TransitionTable<string, string>,
    statuses: PAYOUT_STATUSES as readonly string[],
    events: PAYOUT_EVENTS as readonly string[],
    terminal: ['SUCCESS', 'FAILED'],
  },
];

describe.each(TABLES)('state table of a $name', ({ table, statuses, events, terminal }) => {
  test('contains every status and reaches each from INIT', () => {
    expect(Object.keys(table)).toEqual(statuses);
    expect([...reachable(table, 'INIT')].toSorted()).toEqual([...statuses].toSorted());
  });

  test('returns a status or a typed error for every pair', () => {
    for (const status of statuses) {
      for (const event of events) {
        const listed = table[status]?.[event];
        if (listed !== undefined) {
          expect(statuses).toContain(nextStatus(table, status, event));
          continue;
        }
        const refused = () => nextStatus(table, status, event);
        expect(refused).toThrow(GatewayError);
        expect(refused).toThrow(
          expect.objectContaining({ code: 'ORDER_TRANSITION_REFUSED', retryable: false }),
        );
      }
    }
  });

  test('uses exactly the defined events', () => {
    const used = new Set(statuses.flatMap((status) => Object.keys(table[status] ?? {})));
    expect([...used].toSorted()).toEqual([...events].toSorted());
  });

  test('ends only in the terminal statuses', () => {
    expect(statuses.filter((status) => isTerminal(table, status))).toEqual(terminal);
  });
});

test('moves a collection as docs/api.md section 5 defines', () => {
  expect(edges(COLLECTION_TRANSITIONS)).toEqual(
    [
      'INIT PENDING',
      'PENDING PENDING_CONFIRMATION',
      'PENDING_CONFIRMATION SUCCESS',
      // a reorganisation removed transfers
      'PENDING INIT',
      'PENDING_CONFIRMATION INIT',
      'PENDING_CONFIRMATION PENDING',
      'INIT EXPIRED',
      'PENDING EXPIRED',
      'EXPIRED SUCCESS',
      'EXPIRED PENDING_CONFIRMATION',
      // any except SUCCESS, refused by an operator
      'INIT FAILED',
      'PENDING FAILED',
      'PENDING_CONFIRMATION FAILED',
      'EXPIRED FAILED',
    ].toSorted(),
  );
});

test('moves a payout as docs/api.md section 5 defines', () => {
  expect(edges(PAYOUT_TRANSITIONS)).toEqual(
    [
      'INIT PENDING',
      'PENDING PENDING_CONFIRMATION',
      'PENDING_CONFIRMATION SUCCESS',
      'INIT FAILED',
      // a failure on chain counts only at final depth
      'PENDING_CONFIRMATION FAILED',
      // every sent transaction was proven dead, and then it expired or was refused
      'PENDING FAILED',
      // a reorganisation removed the transaction
      'PENDING_CONFIRMATION PENDING',
    ].toSorted(),
  );
});
