import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import fc from 'fast-check';
import { sql } from 'kysely';
import { isDeepEnough } from '@opentill/domain/confirmations';
import { subtractFromCounted, sumTransfers, type TransferFact } from '@opentill/domain/collection-sums';
import { anEvmAddress, type OrderRow, type TransferRow } from '@opentill/testkit/scenario';
import { agreedHeight } from '../src/agreed-height.ts';
import { coinOf, worthOf } from '../src/order-coins.ts';
import { loadEveryTransfer, loadFacts } from '../src/store/load-facts.ts';
import type { TransferRow as TrackerTransfer } from '../src/store/order-rows.ts';
import { lockOrders, ordersByKey } from '../src/store/lock-orders.ts';
import { settleTransfers } from '../src/handlers/settle-event.ts';
import { at, createTrackerScenario, TTL, type TrackerScenario } from './tracker-scenario.ts';

let s: TrackerScenario;
beforeAll(async () => {
  s = await createTrackerScenario();
});
// For orders with 6 confirmations, blocks up to 105 are deep enough.
beforeEach(() => s.chainAt(110, 200));
afterAll(() => s.close());

/** From one snapshot. */
async function bothSums(order: OrderRow) {
  return s.deps.db.transaction().execute(async (tx) => {
    const orders = await lockOrders(tx, ordersByKey([order.order_pk]));
    const { verifiedDepths, tokens } = s.deps;
    const known = { orders, transferIds: [], verifiedDepths, tokens };
    const facts = (await loadFacts(tx, known)).get(order.order_pk)!;
    const every: TrackerTransfer[] = [];
    for await (const { others } of loadEveryTransfer(tx, known)) every.push(...others);
    const [terms] = orders;
    const toFact = (t: TrackerTransfer): TransferFact => {
      const coin = coinOf(terms!, t)!;
      const height = agreedHeight(t, s.deps.verifiedDepths.get(t.chain));
      return {
        ...t,
        amount: worthOf(t.amount, coin),
        deepEnough: isDeepEnough(t, height, coin.confirmationsRequired),
      };
    };
    const all = every.filter((t) => coinOf(terms!, t) !== undefined);
    return {
      kept: subtractFromCounted(
        terms!,
        facts.counted,
        facts.elsewhere.map(toFact),
        facts.refunded.map(toFact),
      ),
      read: sumTransfers(terms!, all.map(toFact)),
    };
  });
}

interface Model {
  readonly orders: readonly OrderRow[];
  readonly transfers: TransferRow[];
}
/** A change of transfer `which`, or a new transfer to order `where`. */
type Step = readonly [what: string, which: number, where: number, amount: number];

const OTHER = { symbol: 'OTHER', contract_address: anEvmAddress() };
const SECONDS = [60, TTL, TTL + 1, TTL + 60] as const;

async function take({ orders, transfers }: Model, [what, which, where, amount]: Step): Promise<void> {
  const order = orders[where % orders.length]!;
  const found = which % (transfers.length + 1);
  const transfer = transfers[found];
  const change = async (changed: Promise<TransferRow>) => void (transfers[found] = await changed);
  if (transfer === undefined || what === 'transfer') {
    const own = {
      tx_hash: `0x${order.order_pk}${which % 3}`,
      position: `log:${transfers.length}`,
      block_height: 100 + (amount % 10),
      atSecond: SECONDS[amount % SECONDS.length]!,
      ...(amount % 5 === 0 && OTHER),
      ...(amount % 3 === 0 && { state: 'VERIFIED' as const }),
    };
    transfers.push(await s.transfer(order, BigInt(amount), own));
  } else if (what === 'verify') await change(s.verify(transfer));
  else if (what === 'orphan') await change(s.orphan(transfer));
  else if (what === 'include')
    await change(s.mineAgain(transfer, 100 + (amount % 10), 120, { first_block_time: at(50) }));
  else if (what === 'alter') await change(s.mineAgain(transfer, 103, 120, { amount: BigInt(amount) }));
  else if (what === 'relocate')
    await change(s.mineAgain(transfer, 104, 130, { to_address: order.address, state: 'VERIFIED' }));
  else await settleTransfers(s.deps, [transfer.transfer_id]);
}

const WHAT = ['transfer', 'transfer', 'verify', 'verify', 'orphan', 'include', 'alter', 'relocate', 'settle'];
const aStep = fc.tuple(
  fc.constantFrom(...WHAT),
  fc.nat({ max: 20 }),
  fc.nat({ max: 1 }),
  fc.integer({ min: 1, max: 30 }),
);

test('keeps sums equal after any transfers, checks and reorganisations', async () => {
  const { merchantId } = await s.merchant();
  await fc.assert(
    fc.asyncProperty(fc.array(aStep, { minLength: 4, maxLength: 14 }), async (steps) => {
      const amount = { amount: 10_000n, merchant_id: merchantId };
      const orders = [
        await s.order({ ...amount, confirmations_required: 6 }),
        await s.order({ ...amount, confirmations_required: null }),
      ];
      const model: Model = { orders, transfers: [] };
      for (const step of steps) await take(model, step);
      for (const order of orders) {
        const { kept, read } = await bothSums(order);
        expect(kept).toEqual(read);
        await sql`select recount_collection(${order.order_pk})`.execute(s.admin);
        expect((await bothSums(order)).kept).toEqual(read);
      }
    }),
    { numRuns: Number(process.env['RUNS'] ?? 8), seed: Number(process.env['SEED'] ?? 1) },
  );
});
