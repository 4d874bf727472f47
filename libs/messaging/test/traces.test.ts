import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { queueName } from '@opentill/contracts/topology';
import type { Database } from '@opentill/db/database';
import { appendToOutbox, createOutboxStore, newEvent } from '@opentill/db/outbox';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createMetrics } from '@opentill/runtime/metrics';
import { activeIds, startSpan } from '@opentill/runtime/tracing';
import {
  recordTestSpans,
  TEST_TRACE_ID,
  TEST_TRACEPARENT,
  type RecordedSpans,
} from '@opentill/testkit/record-test-spans';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startConsumer } from '../src/consumer.ts';
import { createPublisher } from '../src/publisher.ts';
import { startRelay } from '../src/relay.ts';
import { createCleanup, logger } from './messaging-harness.ts';

const queue = queueName('webhook-sender', 'order.created');
const cleanup = createCleanup();
let server: TestBroker;
let testDatabase: TestDatabase;
let database: Database;
let spans: RecordedSpans | undefined;

beforeAll(async () => {
  [server, testDatabase] = await Promise.all([createTestBroker(), createTestDatabase()]);
  database = testDatabase.open('api');
});
afterAll(async () => {
  await database.close();
  await Promise.all([server.drop(), testDatabase.drop()]);
});
afterEach(async () => {
  await cleanup.run();
  await spans?.stop();
  spans = undefined;
});

interface Handled {
  readonly orderPk: string;
  readonly ids: ReturnType<typeof activeIds>;
}

/** Appends events to the outbox; the relay and the broker bring them to the handler. */
async function carry(...traceparents: readonly (string | undefined)[]) {
  const broker = cleanup.broker(server.url);
  const metrics = createMetrics('test');
  const handled: Handled[] = [];
  const consumer = startConsumer({
    broker,
    service: 'webhook-sender',
    type: 'order.created',
    prefetch: 20,
    logger,
    metrics,
    async handle({ data: { orderPk } }) {
      await Promise.resolve();
      startSpan('webhook-sender', 'work', { parent: TEST_TRACEPARENT })?.end();
      handled.push({ orderPk, ids: activeIds() });
    },
  });
  cleanup.add(() => consumer.stop());
  const store = createOutboxStore(database.kysely, 'api');
  const relay = startRelay({ store, publisher: createPublisher(broker), logger, metrics });
  cleanup.add(() => relay.stop());
  await broker.ready();
  const events = traceparents.map((traceparent) => ({
    ...newEvent('order.created', '_', { orderPk: newId(), eventId: newId() }, { newId, clock: systemClock }),
    traceparent,
  }));
  await database.kysely.transaction().execute((tx) => appendToOutbox(tx, 'api', events));
  relay.wake();
  await waitUntil('all are handled', () => Promise.resolve(handled.length === events.length));
  await consumer.stop(); // ends the spans
  return { handled, events };
}

test('continues the trace of an event through outbox and broker in its handler', async () => {
  spans = recordTestSpans('webhook-sender');
  const { handled, events } = await carry(TEST_TRACEPARENT);
  const [work, process] = spans.ended();
  expect(process).toMatchObject({
    name: 'process order.created',
    traceId: TEST_TRACE_ID,
    parentSpanId: TEST_TRACEPARENT.split('-')[2],
    attributes: {
      'messaging.destination.name': queue,
      'messaging.message.id': events[0]?.envelope.id,
      'opentill.order_pk': handled[0]?.orderPk,
      'opentill.outcome': 'ack',
    },
  });
  expect(work?.parentSpanId).toBe(process?.spanId);
  expect(handled[0]?.ids).toEqual({ trace_id: TEST_TRACE_ID, span_id: process?.spanId });
});

test('handles events without a trace, and traced ones while tracing is off', async () => {
  spans = recordTestSpans('api');
  const { handled } = await carry(undefined, TEST_TRACEPARENT);
  expect(handled.map(({ ids }) => ids)).toEqual([undefined, undefined]);
  expect(spans.ended()).toEqual([]);
});
