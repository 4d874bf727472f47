import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import { startSpan } from '@opentill/runtime/tracing';
import type { OrderRow } from '@opentill/testkit/scenario';
import {
  recordTestSpans,
  TEST_TRACE_ID,
  TEST_TRACEPARENT,
  type RecordedSpans,
} from '@opentill/testkit/record-test-spans';
import { createTrackerScenario, type TrackerScenario } from './tracker-scenario.ts';

let s: TrackerScenario;
let spans: RecordedSpans | undefined;
beforeAll(async () => {
  s = await createTrackerScenario();
  await s.chainAt(102, 120);
});
afterAll(() => s.close());
afterEach(async () => {
  await spans?.stop();
  spans = undefined;
});

async function callbackTraces(order: OrderRow): Promise<readonly (string | null)[]> {
  const rows = await s.admin
    .selectFrom('notification')
    .select('traceparent')
    .where('subject_id', '=', order.order_pk)
    .where('sequence', '>', 1)
    .orderBy('sequence')
    .execute();
  return rows.map(({ traceparent }) => traceparent);
}

/** Traces of the events about this order, oldest first. */
async function eventTraces({ order_pk: orderPk }: OrderRow): Promise<readonly (string | null)[]> {
  const { rows } = await sql<{ traceparent: string | null }>`
    select traceparent from tracker.outbox where payload like ${`%${orderPk}%`} order by id`.execute(s.admin);
  return rows.map(({ traceparent }) => traceparent);
}

test('settles in the trace of the order and passes it on to event and callback', async () => {
  spans = recordTestSpans('confirmation-tracker');
  const order = await s.order({ traceparent: TEST_TRACEPARENT });
  await s.detected(await s.transfer(order, 100n));
  const [settled] = spans.ended();
  expect(settled).toMatchObject({
    name: 'settle order',
    traceId: TEST_TRACE_ID,
    parentSpanId: TEST_TRACEPARENT.split('-')[2],
    attributes: {
      'opentill.order_pk': order.order_pk,
      'opentill.order_id': order.order_id,
      'opentill.order_status': 'PENDING_CONFIRMATION',
    },
  });
  expect(await callbackTraces(order)).toEqual([settled?.traceparent]);
  expect(await eventTraces(order)).toEqual([settled?.traceparent]);
});

test('is a child of the handled event if that is of the same trace', async () => {
  spans = recordTestSpans('confirmation-tracker');
  const order = await s.order({ traceparent: TEST_TRACEPARENT });
  const paid = await s.transfer(order, 100n);
  const handling = startSpan('confirmation-tracker', 'process', { parent: TEST_TRACEPARENT });
  await handling?.run(() => s.detected(paid));
  expect(spans.ended().map(({ parentSpanId }) => parentSpanId)).toEqual([
    handling?.traceparent.split('-')[2],
  ]);
});

test('settles orders of one event each in its own trace; their common event has none', async () => {
  spans = recordTestSpans('confirmation-tracker');
  const one = await s.order({ traceparent: TEST_TRACEPARENT });
  const two = await s.order({ traceparent: TEST_TRACEPARENT.replace(TEST_TRACE_ID, '1'.repeat(32)) });
  const untraced = await s.order();
  await s.detected(
    await s.transfer(one, 100n),
    await s.transfer(two, 100n),
    await s.transfer(untraced, 100n),
  );
  expect(
    spans
      .ended()
      .map(({ traceId }) => traceId)
      .toSorted(),
  ).toEqual([TEST_TRACE_ID, '1'.repeat(32)]);
  expect(await callbackTraces(one)).toEqual([expect.stringContaining(TEST_TRACE_ID)]);
  expect(await callbackTraces(two)).toEqual([expect.stringContaining('1'.repeat(32))]);
  expect(await callbackTraces(untraced)).toEqual([null]);
  expect(await eventTraces(one)).toEqual([null]);
});

test('stores no trace while tracing is off', async () => {
  const order = await s.order({ traceparent: TEST_TRACEPARENT });
  await s.detected(await s.transfer(order, 100n));
  expect(await callbackTraces(order)).toEqual([null]);
});
