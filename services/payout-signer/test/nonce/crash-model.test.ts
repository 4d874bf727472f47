import { expect, test } from 'vitest';
import type { ModelTables } from './model-store.ts';
import { runModel, type Fault, type FaultKind, type Outcome, type Variant } from './model-world.ts';

/** Where a fault can strike: an answer can only be lost where one is given, and so on. */
function strikes(kind: FaultKind, name: string): boolean {
  const isRpc =
    /(latestCount|pendingCount|readPayment|countAt|balances|currentPrices|prepare|broadcast|readFates)$/.test(
      name,
    );
  switch (kind) {
    case 'lost-request':
      return isRpc && name.startsWith('before');
    case 'lost-reply':
      return isRpc && name.startsWith('after');
    case 'mine':
    case 'drop':
    case 'stall':
    case 'reorganise':
    case 'expire':
    case 'foreign':
    case 'takeover':
    case 'restore':
    case 'restore-forgotten':
    case 'resurface':
      // Between two points in a row nothing of the process happens that these could come between.
      return name.startsWith('after');
    case 'crash':
      return true;
  }
}

const KINDS: readonly FaultKind[] = [
  'crash',
  'lost-request',
  'lost-reply',
  'drop',
  'mine',
  'stall',
  'reorganise',
  'expire',
  'takeover',
  'foreign',
];

interface Sum {
  scenarios: number;
  doubles: number;
  stuck: number;
  first: string | undefined;
}

/** Every fault alone, and every pair of them with a crash first or second; of the pairs every `stride`-th. */
async function enumerate(variant: Variant = {}, kinds = KINDS, stride = 1): Promise<Sum> {
  const { points } = await runModel([], variant);
  const sum: Sum = { scenarios: 0, doubles: 0, stuck: 0, first: undefined };
  const add = (faults: readonly Fault[], outcome: Outcome) => {
    sum.scenarios += 1;
    if (outcome.doubles > 0) sum.doubles += 1;
    if (outcome.stuck > 0) sum.stuck += 1;
    if (outcome.doubles + outcome.stuck > 0)
      sum.first ??= JSON.stringify({ faults, ...outcome, points: outcome.points.slice(-30) });
  };
  let turn = 0;
  for (const kind of kinds) {
    for (const [place, name] of points.entries()) {
      if (!strikes(kind, name)) continue;
      const fault = { at: place + 1, kind };
      const alone = await runModel([fault], variant);
      add([fault], alone);
      for (const [second, other] of alone.points.entries()) {
        if (second <= place) continue;
        const pairs: FaultKind[] = kind === 'crash' ? kinds.filter((k) => strikes(k, other)) : ['crash'];
        for (const next of pairs) {
          turn += 1;
          if (turn % stride !== 0) continue;
          const faults = [fault, { at: second + 1, kind: next }];
          add(faults, await runModel(faults, variant));
        }
      }
    }
  }
  return sum;
}

test('three payouts land exactly once, whatever pair of faults strikes where', async () => {
  expect(await runModel([])).toMatchObject({ doubles: 0, stuck: 0, signed: 3 });
  const sum = await enumerate();
  expect(sum.first).toBeUndefined();
  expect(sum).toMatchObject({ doubles: 0, stuck: 0 });
  expect(sum.scenarios).toBeGreaterThan(4_000);
}, 600_000);

test('fees are raised while the chain takes nothing, and a gap is filled: the model has these ways', async () => {
  const { points } = await runModel([]);
  const afterSend = points.indexOf('before broadcast') + 1;
  expect((await runModel([{ at: afterSend, kind: 'stall' }])).signed).toBeGreaterThan(3);
});

/*
 * The same harness must find the mistakes that it is there to find.
 */
const CONTROL_STRIDE = 5;

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
