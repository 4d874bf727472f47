import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sql } from 'kysely';
import { createReconcileWorld, type WorldOfBooks } from './create-reconcile-world.ts';

const ADDRESSES = 100_000;
/** More than some pages with their answers, less than all of them. */
const HEAP_GROWTH_MAX_BYTES = 20 * 1024 * 1024;

/** As many as one statement creates within its timeout of ten seconds. */
const ORDERS_PER_STATEMENT = 10_000;

let world: WorldOfBooks;
beforeAll(async () => {
  world = await createReconcileWorld();
});
afterAll(() => world.close());

it(`reads ${ADDRESSES} deposit addresses page by page and finds the one in excess`, async () => {
  const one = await world.order(world.newAddress());
  for (let from = 1; from < ADDRESSES; from += ORDERS_PER_STATEMENT)
    await makeOrders(one.order_pk, from, Math.min(from + ORDERS_PER_STATEMENT, ADDRESSES) - 1);
  await sql`analyze orders, deposit_address`.execute(world.db);
  await world.pay(one.address, 7n);
  await world.verified();

  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const heap: number[] = [];
  const watch = setInterval(() => {
    collectGarbage();
    heap.push(process.memoryUsage().heapUsed);
  }, 1_000);
  const startedAt = performance.now();
  const found = await world.reconcile();
  clearInterval(watch);
  const seconds = (performance.now() - startedAt) / 1_000;
  const grown = Math.max(...heap) - Math.min(...heap.slice(0, 3));
  process.stderr.write(
    `${ADDRESSES} addresses in ${seconds.toFixed(1)} s, heap grew by ${Math.round(grown / 1024 / 1024)} MiB\n`,
  );
  expect(found.chain.addresses).toBe(ADDRESSES);
  expect(found.differences).toMatchObject([{ kind: 'DEPOSIT_UNSEEN', subject: one.address, amount: '7' }]);
  expect(
    found.errors.filter((line) => /BSC_TEST: \d+ deposit addresses read/.test(line)).length,
  ).toBeGreaterThan(1);
  expect(grown).toBeLessThan(HEAP_GROWTH_MAX_BYTES);
}, 600_000);

async function makeOrders(like: string, from: number, to: number): Promise<void> {
  await sql`
    with made as (
      insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, contract_address, decimals,
          display_decimals, amount, accepted_amount, address, created_at, expires_at)
        select gen_random_uuid(), o.merchant_id, 'many-' || n, 'COLLECTION', o.chain, o.family, o.symbol, o.contract_address,
          o.decimals, o.display_decimals, o.amount, o.accepted_amount, '0x' || lpad(to_hex(n), 40, '0'), o.created_at, o.expires_at
        from orders o, generate_series(${from}::int, ${to}::int) n where o.order_pk = ${like}
        returning order_pk, family, address
    )
    insert into deposit_address (family, address, derivation_index, order_pk)
      select family, address, 1000 + ${from}::int + row_number() over (), order_pk from made`.execute(
    world.db,
  );
}
