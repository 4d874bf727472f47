import { expect, test } from 'vitest';
import type { ModelTables } from './model-store.ts';
import { enumerate } from './enumerate.ts';
import { runModel } from './model-world.ts';

test('lands three payouts exactly once after any sampled pair of faults', async () => {
  expect(await runModel([])).toMatchObject({ doubles: 0, stuck: 0, signed: 3 });
  const sum = await enumerate({}, undefined, 23);
  expect(sum.first).toBeUndefined();
  expect(sum).toMatchObject({ doubles: 0, stuck: 0 });
  expect(sum.scenarios).toBeGreaterThan(400);
});

test('covers fee increases during a stall and the filling of a nonce gap', async () => {
  const { points } = await runModel([]);
  const afterSend = points.indexOf('before broadcast') + 1;
  expect((await runModel([{ at: afterSend, kind: 'stall' }])).signed).toBeGreaterThan(3);
});

const CONTROL_STRIDE = 15;

test('finds a double payment when transactions are sent before they are stored', async () => {
  const sum = await enumerate(
    {
      isCareless: true,
      sender: (sender, _tables, chain) => ({
        ...sender,
        async sign(...given) {
          const signed = await sender.sign(...given);
          chain.send(signed.raw);
          return signed;
        },
      }),
    },
    ['crash'],
    CONTROL_STRIDE,
  );
  expect(sum.doubles).toBeGreaterThan(0);
});

function forget(tables: ModelTables, orderPk: string): void {
  const payout = tables.payouts.get(orderPk);
  for (const nonce of tables.nonces.values()) {
    if (nonce.orderPk !== orderPk || nonce.state !== 'SIGNED' || payout === undefined) continue;
    nonce.orderPk = null;
    payout.state = 'AUTHORISED';
  }
}

test('finds a double payment when a payout without a known outcome gets a new nonce', async () => {
  const sum = await enumerate(
    { onStart: (tables) => [...tables.payouts.keys()].forEach((orderPk) => forget(tables, orderPk)) },
    ['crash'],
    CONTROL_STRIDE,
  );
  expect(sum.doubles).toBeGreaterThan(0);
});

test('finds a double payment when a timeout counts as a failure', async () => {
  const sum = await enumerate(
    {
      store: (store, tables) => ({
        ...store,
        async recordSent(lease, sent) {
          const first = await store.recordSent(lease, sent);
          for (const { outcome, orderPk } of sent)
            if (outcome === 'UNKNOWN' && orderPk !== null) forget(tables, orderPk);
          return first;
        },
      }),
    },
    ['lost-request', 'lost-reply'],
    CONTROL_STRIDE,
  );
  expect(sum.doubles).toBeGreaterThan(0);
});
