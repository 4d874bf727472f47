import { expect, test } from 'vitest';
import type { Lease } from '@opentill/db/lease';
import { planRound } from './plan-round.ts';
import type { PlannerDeps } from './planner-deps.ts';

test('writes no row in a round while the clocks differ', async () => {
  const written: string[] = [];
  const write = (what: string) => () => Promise.resolve(void written.push(what));
  const sweep = { sweepId: 'sweep', method: 'FREE', moves: [], costBaseUnits: 1n, paidBaseUnits: 0n };
  const books = {
    now: new Date(0),
    open: [sweep],
    requests: [7],
    requestedAt: null,
    spentLastDay: 0n,
    haltedWallets: new Set(),
  };
  let difference: string | undefined = 'the database is ahead';
  const deps = {
    network: { chain: 'TRON_TEST' },
    chain: {},
    policy: undefined,
    readClocks: () => Promise.resolve(difference),
    store: { readView: () => Promise.resolve(books), end: write('end'), handled: write('handled') },
    observe: { stepped: () => undefined },
    onMovement: () => undefined,
  } as unknown as PlannerDeps;
  const lease: Lease = { name: 'sweeps/TRON_TEST', fencingToken: 1, holder: 'test' };
  const round = () => planRound(deps, { after: undefined }, lease, new AbortController().signal);
  await expect(round()).rejects.toMatchObject({ code: 'CLOCKS_DIFFER', message: 'the database is ahead' });
  expect(written).toEqual([]);
  difference = undefined;
  await round();
  expect(written).toEqual(['end', 'handled']);
});
