import { describe, expect, test } from 'vitest';
import type { ModelTables } from './model-store.ts';
import { enumerate, landOnce, restoreAfterOutage } from './enumerate.ts';
import { runModel, type Fault, type Variant } from './model-world.ts';

/* A part of all pairs of faults; crash-model.full.test.ts runs more of them. */

describe('three payouts, two of them equal,', () => {
  test('land exactly once, whatever pair of faults strikes where', async () => {
    expect(await runModel([])).toMatchObject({ doubles: 0, stuck: 0, signed: 3 });
    expect(await landOnce(40, 60, 10)).toBeGreaterThan(400);
  });

  test('are signed anew when their time went by without them, and not before', async () => {
    const { points } = await runModel([]);
    const afterSend = points.indexOf('before broadcast') + 1;
    expect((await runModel([{ at: afterSend, kind: 'stall' }])).signed).toBe(3);
    const anew = await runModel([{ at: afterSend, kind: 'outage' }]);
    expect(anew).toMatchObject({ signed: 6, doubles: 0, stuck: 0 });
    expect(anew.points).toContain('after findInBlocks');
  });

  test('are paid once by a database that was brought back to before it signed them', async () => {
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

  test('are unsigned again by a database that was brought back only when it is halted for what it forgot', () =>
    restoreAfterOutage(6));
});

describe('energy that is lent three times, two of them the same,', () => {
  test('is lent just so often, whatever strikes where', async () => {
    const sum = await enumerate(
      { isLending: true },
      { kinds: ['crash', 'outage', 'reorganise'], seconds: ['crash', 'remember'], stride: 12 },
    );
    expect(sum.first).toBeUndefined();
    expect(sum).toMatchObject({ doubles: 0, stuck: 0 });
    expect(sum.again).toBeGreaterThan(10);
    expect(sum.scenarios).toBeGreaterThan(150);
  });

  test('is not lent again by who takes what was signed for a payment, and goes on for ever', async () => {
    const asPayments: Variant = {
      isLending: true,
      store: (store) => ({
        ...store,
        async look(options) {
          const view = await store.look(options);
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

/*
 * The same harness must find the mistakes that it is there to find.
 */
const CONTROL_STRIDE = 3;

/** Takes a payout's attempt away from it, so that it is signed anew. */
function forget(tables: ModelTables, orderPk: string): void {
  const payout = tables.payouts.get(orderPk);
  for (const attempt of tables.attempts.values()) {
    if (attempt.orderPk !== orderPk || attempt.state !== 'OPEN' || payout?.state !== 'SIGNED') continue;
    attempt.state = 'DEAD';
    payout.state = 'AUTHORISED';
  }
}

describe('control:', () => {
  test('sent before it is stored, and it is paid twice', async () => {
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

  test('built anew when some time went by here, and it is paid twice', async () => {
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
    'built anew because a node says %s, and it is paid twice',
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
        { kinds: ['lie', 'lost-reply'], seconds: ['remember'], stride: CONTROL_STRIDE },
      );
      expect(sum.doubles).toBeGreaterThan(0);
    },
  );

  test('built anew because a node does not find it, and it is paid twice', async () => {
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

  test('dead by blocks that are not final, and it is paid twice', async () => {
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
      const alone = await runModel([outage], variant);
      for (const [place, name] of alone.points.entries())
        if (place >= outage.at && name.startsWith('after'))
          doubles += (await runModel([outage, { at: place + 1, kind: 'fork' }], variant)).doubles;
      return doubles;
    };
    expect(await forked(impatient)).toBeGreaterThan(0);
    expect(await forked({})).toBe(0);
  });

  test('with one time for all, equal payouts are one transaction, and one of them is lost', async () => {
    const { stuck } = await runModel([], {
      sender: (sender) => ({
        ...sender,
        sign: (intent, validity, feeLimit) => sender.sign(intent, { ...validity, uniqueMs: 1 }, feeLimit),
      }),
      store: (store, tables) => ({
        ...store,
        // A database without the rule that the times of attempts are unique.
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

  test('brought back without the mark of what was sent, and it is paid twice', async () => {
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
