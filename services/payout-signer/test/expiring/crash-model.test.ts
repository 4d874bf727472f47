import { describe, expect, test } from 'vitest';
import type { ModelTables } from './model-store.ts';
import { enumerate, landOnce, restoreAfterOutage } from './enumerate.ts';
import { runModel, type Fault, type Variant } from './model-world.ts';

describe('three payouts, two of them equal', () => {
  test('lands three payouts exactly once after any sampled pair of faults', async () => {
    expect(await runModel([])).toMatchObject({ doubles: 0, stuck: 0, signed: 3 });
    expect(await landOnce(40, 60, 10)).toBeGreaterThan(400);
  });

  test('signs payouts again only after they expired', async () => {
    const { points } = await runModel([]);
    const afterSend = points.indexOf('before broadcast') + 1;
    expect((await runModel([{ at: afterSend, kind: 'stall' }])).signed).toBe(3);
    const anew = await runModel([{ at: afterSend, kind: 'outage' }]);
    expect(anew).toMatchObject({ signed: 6, doubles: 0, stuck: 0 });
    expect(anew.points).toContain('after findInBlocks');
  });

  test('pays once after a restore to a point before the signatures', async () => {
    const { points } = await runModel([]);
    let scenarios = 0;
    for (const [place, name] of points.entries()) {
      if (!name.startsWith('after')) continue;
      const restored = await runModel([{ at: place + 1, kind: 'restore' }]);
      for (const [second, other] of restored.points.entries()) {
        if (second <= place || !other.startsWith('after') || (place + second) % 3 !== 0) continue;
        scenarios += 1;
        const faults: Fault[] = [
          { at: place + 1, kind: 'restore' },
          { at: second + 1, kind: 'remember' },
        ];
        const { doubles, stuck } = await runModel(faults);
        expect({ faults, doubles, stuck }).toEqual({ faults, doubles: 0, stuck: 0 });
      }
    }
    expect(scenarios).toBeGreaterThan(80);
  });

  test('expires payouts of a restored database only under the halt of the restore', () =>
    restoreAfterOutage(6));
});

describe('three delegations of energy, two of them equal', () => {
  test('delegates energy exactly three times after any sampled fault', async () => {
    const sum = await enumerate(
      { isLending: true },
      { kinds: ['crash', 'outage', 'reorganise'], seconds: ['crash', 'remember'], stride: 12 },
    );
    expect(sum.first).toBeUndefined();
    expect(sum).toMatchObject({ doubles: 0, stuck: 0 });
    expect(sum.again).toBeGreaterThan(10);
    expect(sum.scenarios).toBeGreaterThan(150);
  });

  test('never finishes delegations when their attempts are matched as payments', async () => {
    const asPayments: Variant = {
      isLending: true,
      store: (store) => ({
        ...store,
        async readView(options) {
          const view = await store.readView(options);
          return { ...view, attempts: view.attempts.map((attempt) => ({ ...attempt, resource: undefined })) };
        },
      }),
    };
    const { points } = await runModel([], asPayments);
    const outage = { at: points.indexOf('before broadcast') + 1, kind: 'outage' } as const;
    expect(await runModel([outage], { isLending: true })).toMatchObject({ doubles: 0, stuck: 0 });
    expect((await runModel([outage], asPayments)).stuck).toBeGreaterThan(0);
  });
});

const CONTROL_STRIDE = 3;

function forget(tables: ModelTables, orderPk: string): void {
  const payout = tables.payouts.get(orderPk);
  for (const attempt of tables.attempts.values()) {
    if (attempt.orderPk !== orderPk || attempt.state !== 'OPEN' || payout?.state !== 'SIGNED') continue;
    attempt.state = 'DEAD';
    payout.state = 'AUTHORISED';
  }
}

describe('negative control', () => {
  test('finds a double payment when transactions are sent before they are stored', async () => {
    const sum = await enumerate(
      {
        sender: (sender, _tables, chain) => ({
          ...sender,
          async sign(...given) {
            const signed = await sender.sign(...given);
            chain.send(signed.raw);
            return signed;
          },
        }),
      },
      { kinds: ['crash'], seconds: ['crash'], stride: CONTROL_STRIDE },
    );
    expect(sum.doubles).toBeGreaterThan(0);
  });

  test('finds a double payment when attempts expire by the local clock', async () => {
    const sum = await enumerate(
      {
        onPass(tables) {
          for (const { orderPk, signedAt, state } of tables.attempts.values())
            if (state === 'OPEN' && tables.nowMs - signedAt.getTime() >= 21_000) forget(tables, orderPk);
        },
      },
      { kinds: ['stall'], seconds: [] },
    );
    expect(sum.doubles).toBeGreaterThan(0);
  });

  test.each(['EXPIRED', 'UNKNOWN'] as const)(
    "finds a double payment when a node's answer %s counts as expiry",
    async (word) => {
      const sum = await enumerate(
        {
          store: (store, tables) => ({
            ...store,
            async recordSent(lease, sent) {
              const first = await store.recordSent(lease, sent);
              for (const { outcome, orderPk } of sent) if (outcome === word) forget(tables, orderPk);
              return first;
            },
          }),
        },
        { kinds: ['wrong-answer', 'lost-reply'], seconds: ['remember'], stride: CONTROL_STRIDE },
      );
      expect(sum.doubles).toBeGreaterThan(0);
    },
  );

  test("finds a double payment when a node's missing transaction counts as expiry", async () => {
    const sum = await enumerate(
      {
        onPass(tables, chain) {
          for (const [txHash, { orderPk, state }] of tables.attempts)
            if (state === 'OPEN' && chain.heightOf(txHash) === undefined) forget(tables, orderPk);
        },
      },
      { kinds: ['stall'], seconds: [] },
    );
    expect(sum.doubles).toBeGreaterThan(0);
  });

  test('finds a double payment when attempts expire by blocks that are not final', async () => {
    const impatient: Variant = {
      onPass(tables, chain) {
        const headMs = chain.head().timeSeconds * 1_000;
        for (const [txHash, { orderPk, signed, state }] of tables.attempts) {
          const isOver = headMs >= signed.validity.expiresMs;
          if (state === 'OPEN' && isOver && chain.heightOf(txHash) === undefined) forget(tables, orderPk);
        }
      },
    };
    const { points } = await runModel([]);
    const outage: Fault = { at: points.indexOf('before broadcast') + 1, kind: 'outage' };
    const forked = async (variant: Variant): Promise<number> => {
      let doubles = 0;
      const single = await runModel([outage], variant);
      for (const [place, name] of single.points.entries())
        if (place >= outage.at && name.startsWith('after'))
          doubles += (await runModel([outage, { at: place + 1, kind: 'fork' }], variant)).doubles;
      return doubles;
    };
    expect(await forked(impatient)).toBeGreaterThan(0);
    expect(await forked({})).toBe(0);
  });

  test('finds a lost payout when equal payouts have the same expiration', async () => {
    const { stuck } = await runModel([], {
      sender: (sender) => ({
        ...sender,
        sign: (intent, validity, feeLimit) => sender.sign(intent, { ...validity, uniqueMs: 1 }, feeLimit),
      }),
      store: (store, tables) => ({
        ...store,
        // A database without the unique constraint on the expiration of attempts.
        async saveSigned(lease, payments, chooseRefused) {
          const keys = new Set(payments.map(({ signed }) => signed.txHash));
          const once = payments.filter(({ signed }) => keys.delete(signed.txHash));
          const outcome = await store.saveSigned(lease, once, chooseRefused);
          for (const { orderPk } of payments) tables.payouts.get(orderPk)!.state = 'SIGNED';
          return outcome;
        },
      }),
    });
    expect(stuck).toBeGreaterThan(0);
  });

  test('finds a double payment after a restore without the mark of sent transactions', async () => {
    const noMark = { read: () => Promise.resolve(undefined), raise: () => Promise.resolve() };
    const { points } = await runModel([]);
    let doubles = 0;
    for (const [place, name] of points.entries())
      if (name.startsWith('after')) {
        const faults: Fault[] = [{ at: place + 1, kind: 'restore' }];
        doubles += (await runModel(faults, { mark: () => noMark })).doubles;
      }
    expect(doubles).toBeGreaterThan(0);
  });
});
