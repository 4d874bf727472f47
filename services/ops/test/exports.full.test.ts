import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { aMerchant } from '@opentill/testkit/scenario';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startTestOps, type TestOps } from './support/test-ops.ts';

const ORDERS = 100_000;
/** The file has 25 MB. Its rows as objects need several times as much. */
const HEAP_GROWTH_MAX_BYTES = 8 * 2 ** 20;
const LOOK_EVERY_LINES = 5_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heldBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

const { testDatabase, admin } = await openTestDatabase();
let ops: TestOps;

beforeAll(async () => {
  ops = await startTestOps(testDatabase);
  await aMerchant(admin.kysely, { merchantId: 'shop' });
  await sql`
    insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, decimals, display_decimals, amount,
      accepted_amount, address, description, created_at, expires_at)
    select (overlay(uuid_at(at)::text placing lpad(to_hex(i), 12, '0') from 25))::uuid, 'shop', 'order-' || i, 'COLLECTION', 'ETH_SEPOLIA', 'EVM',
      'USDT', 6, 2, 1000000 + i, 1000000 + i, '0x' || lpad(to_hex(i), 40, '0'), null, at, at + interval '30 min'
    from (select i, timestamptz '2026-01-01T00:00:00Z' + i * interval '1 second' as at from generate_series(1, ${ORDERS}) i) a`.execute(
    admin.kysely,
  );
});
afterAll(() => ops.stop());

const PATH = '/v1/exports/orders.csv?from=2026-01-01T00:00:00Z&until=2026-02-01T00:00:00Z';
const asFinance = () => ({ headers: { authorization: `Bearer ${ops.tokens.FINANCE}` } });

describe('an export of 100,000 orders', () => {
  it('streams all orders in order from one snapshot, with bounded memory', async () => {
    const response = await fetch(ops.url + PATH, asFinance());
    let [lines, rest, last, peak, bytes, looked] = [0, '', '', 0, 0, 0];
    const before = heldBytes();
    const decoder = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\r\n');
      rest = parts.pop() ?? '';
      for (const line of parts.slice(lines === 0 ? 1 : 0)) {
        expect(line > last).toBe(true);
        last = line;
      }
      if (lines === 0) {
        // A started file does not contain later orders.
        await sql`insert into orders (order_pk, merchant_id, order_id, order_type, chain, family, symbol, decimals, display_decimals,
            amount, accepted_amount, address, created_at, expires_at)
          values ('019cffff-ffff-0000-0000-000000000000', 'shop', 'late', 'COLLECTION', 'ETH_SEPOLIA', 'EVM', 'USDT', 6, 2, 1, 1, '0x',
            '2026-01-31T00:00:00Z', now())`.execute(admin.kysely);
      }
      lines += parts.length;
      bytes += chunk.length;
      if (lines - looked >= LOOK_EVERY_LINES) {
        looked = lines;
        peak = Math.max(peak, heldBytes() - before);
      }
    }
    expect({ lines, rest }).toEqual({ lines: ORDERS + 1, rest: '' });
    expect(bytes).toBeGreaterThan(2 * HEAP_GROWTH_MAX_BYTES);
    expect(looked).toBeGreaterThan(0);
    expect(peak).toBeLessThan(HEAP_GROWTH_MAX_BYTES);
  });

  it('stops when its client disconnects, and at most two run at a time', async () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const begun = await Promise.all(
      [first, second].map((reader) => fetch(ops.url + PATH, { ...asFinance(), signal: reader.signal })),
    );
    expect(begun.map(({ status }) => status)).toEqual([200, 200]);
    const third = await ops.call(
      'exportOrders',
      { from: '2026-01-01T00:00:00Z', until: '2026-02-01T00:00:00Z' },
      'FINANCE',
    );
    expect(third.body.error.code).toBe('UNAVAILABLE');
    for (const reader of [first, second]) reader.abort();
    await waitUntil('the snapshots are given back', async () => {
      const { rows } = await sql<{ open: number }>`
        select count(*)::int as open from pg_stat_activity
        where datname = current_database() and usename = 'opentill_ops' and xact_start is not null`.execute(
        admin.kysely,
      );
      return rows[0]?.open === 0;
    });
    const again = await ops.call(
      'exportLedger',
      { from: '2026-01-01T00:00:00Z', until: '2026-02-01T00:00:00Z' },
      'FINANCE',
    );
    expect(again.status).toBe(200);
  });
});
