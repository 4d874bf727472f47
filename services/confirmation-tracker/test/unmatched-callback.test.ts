import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { UNMATCHED_SHOWN } from '@opentill/contracts/format-unmatched';
import type { NotifyUnmatched } from '@opentill/contracts/notify-order';
import type { OrderRow, TransferRow } from '@opentill/testkit/scenario';
import { settleTransfers, type HandlerDeps } from '../src/handlers/settle-event.ts';
import {
  at,
  createTrackerScenario,
  OTHER_TOKEN,
  sweepDue,
  type TrackerScenario,
} from './tracker-scenario.ts';

let s: TrackerScenario;
let merchantId: string;
beforeAll(async () => {
  s = await createTrackerScenario();
  ({ merchantId } = await s.merchant({ notifyUnmatched: true }));
});
beforeEach(async () => {
  await s.chainAt(110, 200);
  await s.chainAt(110, 200, 'BSC_TEST');
});
afterAll(() => s.close());

const OTHER = { symbol: OTHER_TOKEN.symbol, contract_address: OTHER_TOKEN.contract } as const;
/** 1.50 of OTHER_TOKEN. */
const ONE_AND_A_HALF = 1_500_000_000_000_000_000n;

const order = (overrides: Parameters<TrackerScenario['order']>[0] = {}) =>
  s.order({ merchant_id: merchantId, ...overrides });

function depsAt(second: number, deps: Partial<HandlerDeps> = {}): HandlerDeps {
  return { ...s.deps, clock: { now: () => at(second) }, ...deps };
}

async function settle(second: number, ...transfers: readonly TransferRow[]): Promise<void> {
  await settleTransfers(
    depsAt(second),
    transfers.map(({ transfer_id }) => transfer_id),
  );
}

async function reports(of: OrderRow): Promise<NotifyUnmatched[]> {
  const callbacks = await s.callbacks(of);
  return callbacks
    .filter(({ type }) => type === 'ORDER_UNMATCHED')
    .map(({ data }) => data as NotifyUnmatched);
}

async function reportedAmounts(of: OrderRow): Promise<string[]> {
  return (await reports(of)).map(({ unmatched }) => unmatched.map(({ amount }) => amount).join(' '));
}

async function timesOf({ order_pk }: OrderRow) {
  return s.admin
    .selectFrom('orders')
    .select(['updated_at', 'version', 'unmatched_callback_due_at as dueAt'])
    .where('order_pk', '=', order_pk)
    .executeTakeFirstOrThrow();
}

describe('the callback ORDER_UNMATCHED', () => {
  test('reports a wrong token as soon as it is detected', async () => {
    const asked = await order();
    const wrong = await s.transfer(asked, ONE_AND_A_HALF, OTHER);
    await s.detected(wrong);
    const [report] = await reports(asked);
    expect(report).toEqual({
      orderId: asked.order_id,
      uid: null,
      orderType: 'COLLECTION',
      status: 'INIT',
      reason: null,
      amount: '0.0001',
      actualAmount: null,
      fee: '0',
      feeRatio: '0',
      transaction: null,
      unmatched: [
        {
          chain: 'ETH_SEPOLIA',
          symbol: 'OTHER',
          amount: '1.50',
          txid: wrong.tx_hash,
          reason: 'WRONG_TOKEN',
        },
      ],
    });
    await s.verified(await s.verify(wrong));
    expect(await reports(asked)).toHaveLength(1);
  });

  test('reports a payment on another chain of the family', async () => {
    const asked = await order();
    const wrong = await s.transfer(asked, ONE_AND_A_HALF, { ...OTHER, chain: 'BSC_TEST' });
    await s.detected(wrong);
    expect((await reports(asked))[0]?.unmatched).toMatchObject([
      { chain: 'BSC_TEST', amount: '1.50', txid: wrong.tx_hash, reason: 'WRONG_CHAIN' },
    ]);
  });

  test('reports a late payment in addition to ORDER_EXPIRED', async () => {
    const expired = await order({ expires_at: at(30) });
    await sweepDue(depsAt(0));
    await settle(10, await s.transfer(expired, 20n, { state: 'VERIFIED' }));
    expect((await s.callbacks(expired)).map(({ type }) => type)).toEqual([
      'ORDER_EXPIRED',
      'ORDER_EXPIRED',
      'ORDER_UNMATCHED',
    ]);
    const [report] = await reports(expired);
    expect(report).toMatchObject({ status: 'EXPIRED', reason: 'Paid after expiry', actualAmount: '0.00002' });
    expect(report?.unmatched).toMatchObject([{ amount: '0.00002', reason: 'LATE' }]);
  });

  test('reports a payment after SUCCESS with the transaction that paid', async () => {
    const paid = await order();
    const first = await s.transfer(paid, 100n);
    await s.verified(await s.verify(first));
    const extra = await s.transfer(paid, 7n, { block_height: 101 });
    await s.detected(extra);
    const [report] = await reports(paid);
    expect(report).toMatchObject({ status: 'SUCCESS', transaction: { txid: first.tx_hash } });
    expect(report?.unmatched).toMatchObject([{ txid: extra.tx_hash, reason: 'AFTER_SUCCESS' }]);
    expect(await s.state(paid)).toMatchObject({ status: 'SUCCESS', actual: 100n });
  });

  test('reports what was too little when the order expires', async () => {
    const asked = await order({ expires_at: at(90) });
    await s.chainAt(110, 80);
    await settle(0, await s.transfer(asked, 20n, { state: 'VERIFIED' }));
    expect(await reports(asked)).toEqual([]);
    await s.chainAt(111, 100);
    await sweepDue(depsAt(10));
    expect((await reports(asked))[0]?.unmatched).toMatchObject([{ amount: '0.00002', reason: 'UNDERPAID' }]);
  });

  test('is not sent unless the merchant enabled it', async () => {
    const asked = await s.order();
    const wrong = await s.transfer(asked, ONE_AND_A_HALF, OTHER);
    await s.detected(wrong);
    expect(await s.unmatched(wrong)).toBe('WRONG_TOKEN');
    expect(await s.callbacks(asked)).toEqual([]);
    expect(await timesOf(asked)).toMatchObject({ version: 1, dueAt: null });
  });

  test('is not sent for dust', async () => {
    const asked = await order();
    const dust = await s.transfer(asked, 9n, OTHER);
    await settleTransfers(depsAt(0, { dustBelow: () => 10n }), [dust.transfer_id]);
    expect(await s.unmatched(dust)).toBe('WRONG_TOKEN');
    expect(await reports(asked)).toEqual([]);
  });
});

describe('a payment in a token that was removed from the configuration', () => {
  const withoutOther: HandlerDeps['displayOf'] = (chain) => ({
    ...s.deps.displayOf(chain),
    tokenOf: () => undefined,
  });

  test('is recorded and logged, but sends no empty callback', async () => {
    const asked = await order();
    const wrong = await s.transfer(asked, ONE_AND_A_HALF, OTHER);
    const before = s.observe.calls.length;
    await settleTransfers(depsAt(100, { displayOf: withoutOther }), [wrong.transfer_id]);
    expect(await s.unmatched(wrong)).toBe('WRONG_TOKEN');
    expect(await reports(asked)).toEqual([]);
    expect(await timesOf(asked)).toMatchObject({ dueAt: null });
    expect(s.observe.calls.slice(before)).toMatchObject([
      { what: 'orderSettled', detail: { unlisted: [{ transferId: Number(wrong.transfer_id) }] } },
    ]);
  });

  test('ends the pause without a callback, and is listed once its token is back', async () => {
    const asked = await order();
    await settle(100, await s.transfer(asked, ONE_AND_A_HALF, OTHER));
    const waiting = await s.transfer(asked, 2n * ONE_AND_A_HALF, OTHER);
    await settle(110, waiting);
    await sweepDue(depsAt(200, { displayOf: withoutOther }));
    expect(await reportedAmounts(asked)).toEqual(['1.50']);
    expect(await timesOf(asked)).toMatchObject({ dueAt: null });
    await settle(300, await s.verify(waiting));
    expect(await reportedAmounts(asked)).toEqual(['1.50', '3.00 1.50']);
  });

  test('takes no place of the payments that are listed', async () => {
    const asked = await order({ expires_at: at(30) });
    await sweepDue(depsAt(0));
    const gone: TransferRow[] = [];
    const late = await s.transfer(asked, 20n, { state: 'VERIFIED' });
    for (let i = 0; i < UNMATCHED_SHOWN; i += 1) gone.push(await s.transfer(asked, ONE_AND_A_HALF, OTHER));
    const deps = { displayOf: withoutOther, tokens: [] };
    // The same transaction, then transactions in which the others are already recorded.
    const all = [late, ...gone].map(({ transfer_id }) => transfer_id);
    await settleTransfers(depsAt(100, deps), all);
    expect(await reportedAmounts(asked)).toEqual(['0.00002']);
    const later = await s.transfer(asked, 30n, { state: 'VERIFIED' });
    await settleTransfers(depsAt(200, deps), [later.transfer_id]);
    expect(await reportedAmounts(asked)).toEqual(['0.00002', '0.00003 0.00002']);
  });

  test('leaves a callback of other payments without it, and stays unreported', async () => {
    const asked = await order({ expires_at: at(30) });
    await sweepDue(depsAt(0));
    const late = await s.transfer(asked, 20n, { state: 'VERIFIED' });
    const wrong = await s.transfer(asked, ONE_AND_A_HALF, OTHER);
    await settleTransfers(depsAt(100, { displayOf: withoutOther }), [late.transfer_id, wrong.transfer_id]);
    expect(await reportedAmounts(asked)).toEqual(['0.00002']);
    await settle(200, await s.verify(wrong));
    expect(await reportedAmounts(asked)).toEqual(['0.00002', '1.50 0.00002']);
  });
});

describe('the pause between two ORDER_UNMATCHED', () => {
  test('is a minute; the next callback lists every payment, newest first', async () => {
    const asked = await order();
    const pay = async (tenths: bigint) => s.transfer(asked, tenths * 100_000_000_000_000_000n, OTHER);
    await settle(100, await pay(10n));
    expect(await reportedAmounts(asked)).toEqual(['1.00']);
    await settle(110, await pay(20n));
    await settle(159, await pay(30n));
    await sweepDue(depsAt(159));
    expect(await reportedAmounts(asked)).toEqual(['1.00']);
    await sweepDue(depsAt(160));
    await sweepDue(depsAt(500));
    expect(await reportedAmounts(asked)).toEqual(['1.00', '3.00 2.00 1.00']);
    expect(await timesOf(asked)).toMatchObject({ dueAt: null });
  });

  test('ends without a callback when the waiting payment is reorganised away', async () => {
    const asked = await order();
    await settle(100, await s.transfer(asked, ONE_AND_A_HALF, OTHER));
    const waiting = await s.transfer(asked, ONE_AND_A_HALF, OTHER);
    await settle(110, waiting);
    expect((await timesOf(asked)).dueAt).toEqual(at(160));
    await settle(120, await s.orphan(waiting));
    expect((await timesOf(asked)).dueAt).toBeNull();
    await sweepDue(depsAt(200));
    expect(await reportedAmounts(asked)).toEqual(['1.50']);
  });
});

describe('a payment that does not count and is reorganised', () => {
  test('is not listed and not reported again when it comes back', async () => {
    const asked = await order();
    const wrong = await s.transfer(asked, ONE_AND_A_HALF, OTHER);
    await settle(100, wrong);
    await settle(200, await s.orphan(wrong));
    expect(await s.unmatched(wrong)).toBe('WRONG_TOKEN withdrawn');
    const other = await s.transfer(asked, 2n * ONE_AND_A_HALF, OTHER);
    await settle(300, other);
    expect(await reportedAmounts(asked)).toEqual(['1.50', '3.00']);
    await settle(400, await s.mineAgain(wrong, 103, 90));
    expect(await s.unmatched(wrong)).toBe('WRONG_TOKEN');
    await sweepDue(depsAt(600));
    expect(await reportedAmounts(asked)).toHaveLength(2);
  });

  test('changes the order row, so that open pages read it again', async () => {
    const asked = await s.order();
    const wrong = await s.transfer(asked, ONE_AND_A_HALF, OTHER);
    await settle(100, wrong);
    expect((await timesOf(asked)).updated_at).toEqual(at(100));
    await settle(200, await s.orphan(wrong));
    expect((await timesOf(asked)).updated_at).toEqual(at(200));
    expect(await s.state(asked)).toMatchObject({ status: 'INIT', detected: 0n, actual: null });
  });
});
