import { expect, test } from 'vitest';
import type { ModelTables } from './model-store.ts';
import { enumerate } from './enumerate.ts';
import { runModel } from './model-world.ts';

/* A part of all pairs of faults; crash-model.full.test.ts runs all of them. */

test('three payouts land exactly once, whatever pair of faults strikes where', async () => {
  expect(await runModel([])).toMatchObject({ doubles: 0, stuck: 0, signed: 3 });
  const sum = await enumerate({}, undefined, 23);
  expect(sum.first).toBeUndefined();
  expect(sum).toMatchObject({ doubles: 0, stuck: 0 });
  expect(sum.scenarios).toBeGreaterThan(400);
});

test('fees are raised while the chain takes nothing, and a gap is filled: the model has these ways', async () => {
  const { points } = await runModel([]);
  const afterSend = points.indexOf('before broadcast') + 1;
  expect((await runModel([{ at: afterSend, kind: 'stall' }])).signed).toBeGreaterThan(3);
});

/*
 * The same harness must find the mistakes that it is there to find.
 */
const CONTROL_STRIDE = 15;

test('control: sent before it is stored, with an operator who does not look, it is paid twice or although it failed', async () => {
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

/** Takes a payout's signed nonce away from it, so that it is signed anew with another. */
function forget(tables: ModelTables, orderPk: string): void {
  const payout = tables.payouts.get(orderPk);
  for (const nonce of tables.nonces.values()) {
    if (nonce.orderPk !== orderPk || nonce.state !== 'SIGNED' || payout === undefined) continue;
    nonce.orderPk = null;
    payout.state = 'AUTHORISED';
  }
}

test('control: a fresh nonce for what is not known to have landed, and it is paid twice', async () => {
  const sum = await enumerate(
    { onStart: (tables) => [...tables.payouts.keys()].forEach((orderPk) => forget(tables, orderPk)) },
    ['crash'],
    CONTROL_STRIDE,
  );
  expect(sum.doubles).toBeGreaterThan(0);
});

test('control: a timeout taken as a failure, and it is paid twice', async () => {
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
