import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '@opentill/runtime/ids';
import { settleTransfers } from '../src/handlers/settle-event.ts';
import { settlePayoutKeys } from '../src/handlers/settle-payout-event.ts';
import { createMetrics } from '@opentill/runtime/metrics';
import { observeCursors } from '../src/observe.ts';
import { oldestDueSeconds, openIncidents } from '../src/store/measure-backlog.ts';
import { payoutsOn } from './payout-scenario.ts';
import { createTrackerScenario, type TrackerScenario } from './tracker-scenario.ts';

let s: TrackerScenario;
beforeAll(async () => {
  s = await createTrackerScenario();
  await s.chainAt(110, 200);
});
afterAll(() => s.close());

const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000);

test('names the waiting time of the oldest unsettled transfer', async () => {
  expect(await oldestDueSeconds(s.deps.db)).toEqual({ transfers: 0, outcomes: 0 });
  const old = await s.transfer(await s.order(), 1n, { updated_at: ago(3_600) });
  const young = await s.transfer(await s.order(), 1n, { updated_at: ago(60) });
  expect((await oldestDueSeconds(s.deps.db)).transfers).toBeGreaterThan(3_590);
  await settleTransfers(s.deps, [old.transfer_id]);
  const { transfers } = await oldestDueSeconds(s.deps.db);
  expect(transfers).toBeGreaterThan(59);
  expect(transfers).toBeLessThan(3_500);
  await settleTransfers(s.deps, [young.transfer_id]);
  expect((await oldestDueSeconds(s.deps.db)).transfers).toBe(0);
  await s.verify(young);
  expect((await oldestDueSeconds(s.deps.db)).transfers).toBeGreaterThan(0);
  await settleTransfers(s.deps, [young.transfer_id]);
});

test('names the waiting time of the oldest unsettled outcome of a payout', async () => {
  const p = payoutsOn(s);
  const order = await p.payout();
  await p.fate(await p.sign(order), 'MINED');
  await s.admin
    .updateTable('own_transaction_fate')
    .set({ updated_at: ago(600) })
    .execute();
  const { outcomes } = await oldestDueSeconds(s.deps.db);
  expect(outcomes).toBeGreaterThan(599);
  await settlePayoutKeys(s.deps, [order.order_pk]);
  expect((await oldestDueSeconds(s.deps.db)).outcomes).toBe(0);
});

test('reads only the newest changes', async () => {
  await s.transfer(await s.order(), 1n, { updated_at: ago(7_200) });
  expect((await oldestDueSeconds(s.deps.db)).transfers).toBeGreaterThan(7_190);
  expect((await oldestDueSeconds(s.deps.db, 1)).transfers).toBe(0);
});

test('counts incidents until an operator closes them', async () => {
  const open = async () => (await openIncidents(s.deps.db)).map(({ kind, count }) => `${kind} ${count}`);
  const incident = (kind: string, closedAt: Date | null) =>
    s.admin
      .insertInto('incident')
      .values({
        incident_id: newId(),
        kind: kind as 'PAYOUT_SHORT',
        chain: 'ETH_SEPOLIA',
        opened_at: new Date(),
        closed_at: closedAt,
      })
      .execute();
  expect(await open()).toEqual([]);
  await incident('PAYOUT_SHORT', null);
  await incident('PAYOUT_SHORT', null);
  await incident('TOP_UP_ORPHANED', null);
  await incident('PAYOUT_ORPHANED', new Date());
  expect((await open()).toSorted()).toEqual(['PAYOUT_SHORT 2', 'TOP_UP_ORPHANED 1']);
});

test('exports the age of the cursor of each enabled chain, also without a cursor', async () => {
  const metrics = createMetrics('test');
  observeCursors(metrics, s.deps.db, ['ETH_SEPOLIA', 'BSC_TEST']);
  await s.admin
    .updateTable('chain_cursor')
    .set({ updated_at: ago(600) })
    .where('chain', '=', 'ETH_SEPOLIA')
    .execute();
  const ages = new Map(
    [
      ...(await metrics.render()).matchAll(
        /^opentill_tracker_chain_cursor_age_seconds\{chain="(\w+)".*\} (.+)$/gm,
      ),
    ].map(([, chain, seconds]) => [chain, seconds]),
  );
  expect([...ages.keys()].toSorted()).toEqual(['BSC_TEST', 'ETH_SEPOLIA']);
  expect(ages.get('BSC_TEST')).toBe('+Inf');
  expect(Number(ages.get('ETH_SEPOLIA'))).toBeGreaterThan(599);
});

test('exports no age of a cursor while the query fails', async () => {
  let fails = false;
  const db = s.deps.db.withPlugin({
    transformQuery({ node }) {
      if (fails) throw new Error('down');
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  });
  const metrics = createMetrics('test');
  observeCursors(metrics, db, ['ETH_SEPOLIA']);
  const isExported = async () =>
    (await metrics.render()).includes('\nopentill_tracker_chain_cursor_age_seconds{');
  expect(await isExported()).toBe(true);
  fails = true;
  expect(await isExported()).toBe(false);
  fails = false;
  expect(await isExported()).toBe(true);
});
