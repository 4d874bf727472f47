import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { sql } from 'kysely';
import {
  recordTestSpans,
  TEST_TRACE_ID,
  TEST_TRACEPARENT,
  type RecordedSpans,
} from '@opentill/testkit/record-test-spans';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { aTx, createMockNode, type MockNode } from './mock-node.ts';
import { address, CHAIN, forgetScans, giveOut, openScan } from './scan-harness.ts';

const [ALICE, BOB] = [address('alice'), address('bob')];
const OF_BOB = '00-11111111111111111111111111111111-2222222222222222-01';

const database = await openTestDatabase();
const { admin } = database;
const scanner = database.open('scanner_evm');

let node: MockNode;
let spans: RecordedSpans | undefined;

beforeAll(async () => {
  await giveOut(admin.kysely, [ALICE, BOB]);
  await sql`update orders set traceparent = case address when ${ALICE} then ${TEST_TRACEPARENT} else ${OF_BOB} end`.execute(
    admin.kysely,
  );
});
beforeEach(async () => {
  await forgetScans(admin.kysely);
  node = createMockNode(CHAIN);
  for (let i = 0; i < 20; i += 1) node.mine();
});
afterEach(async () => {
  await spans?.stop();
  spans = undefined;
});

/** Type and trace of each event about transfers. */
async function events(): Promise<readonly (readonly [string, string | null])[]> {
  const { rows } = await sql<{ key: string; traceparent: string | null }>`
    select routing_key as key, traceparent from scanner_evm.outbox
    where jsonb_array_length(payload::jsonb -> 'data' -> 'transferIds') > 0 order by id`.execute(
    admin.kysely,
  );
  return rows.map(({ key, traceparent }) => [key, traceparent]);
}

/** All are seen in one block, and verified three blocks later. */
async function pay(...receivers: readonly (typeof ALICE)[]) {
  const scan = await openScan({ db: scanner.kysely, reader: node.reader });
  await scan.settle();
  node.mine(...receivers.map((to) => aTx({ to, amount: 100n })));
  await scan.settle();
  for (let i = 0; i < 3; i += 1) node.mine();
  await scan.settle();
}

it('records a span per order and change, and gives the event of one order its trace', async () => {
  spans = recordTestSpans('scanner-evm');
  await pay(ALICE);
  const [detected, verified] = spans.ended();
  expect(spans.ended()).toHaveLength(2);
  for (const span of [detected, verified])
    expect(span).toMatchObject({
      traceId: TEST_TRACE_ID,
      parentSpanId: TEST_TRACEPARENT.split('-')[2],
      attributes: { 'opentill.chain': CHAIN, 'opentill.order_pk': expect.any(String) },
    });
  expect(await events()).toEqual([
    ['transfer.detected.evm', detected?.traceparent],
    ['block.verified.evm', verified?.traceparent],
  ]);
});

it('gives an event of several orders no trace, but records a span in each order', async () => {
  spans = recordTestSpans('scanner-evm');
  await pay(ALICE, BOB);
  expect(spans.ended().map(({ name, traceId }) => [name, traceId])).toEqual([
    ['transfer detected', TEST_TRACE_ID],
    ['transfer detected', OF_BOB.split('-')[1]],
    ['transfer verified', TEST_TRACE_ID],
    ['transfer verified', OF_BOB.split('-')[1]],
  ]);
  expect(await events()).toEqual([
    ['transfer.detected.evm', null],
    ['block.verified.evm', null],
  ]);
});

it('writes events without a trace while tracing is off', async () => {
  await pay(ALICE);
  expect((await events()).map(([, traceparent]) => traceparent)).toEqual([null, null]);
});
