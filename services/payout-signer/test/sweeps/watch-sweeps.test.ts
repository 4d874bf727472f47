import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Database } from '@opentill/db/database';
import { createMetrics } from '@opentill/runtime/metrics';
import { aCollection, aHotWallet } from '@opentill/testkit/scenario';
import { createTestDatabase, type TestDatabase } from '@opentill/testkit/test-database';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startWatchingSweeps } from '../../src/sweeps/watch-sweeps.ts';

const CHAIN = 'ETH_SEPOLIA';
const HOT = '0x00000000000000000000000000000000000000aa';

let database: TestDatabase;
let [admin, signer]: Database[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
  [admin, signer] = [database.open('admin'), database.open('signer')];
});
afterAll(async () => {
  await admin!.close();
  await signer!.close();
  await database.drop();
});

test('measures the state of sweeps and warns once per problem', async () => {
  const db = admin!.kysely;
  await aHotWallet(db);
  await sql`insert into chain_family (chain, family) values (${CHAIN}, 'EVM') on conflict do nothing`.execute(
    db,
  );
  await sql`insert into hot_wallet (family, address) values ('EVM', ${HOT}) on conflict do nothing`.execute(
    db,
  );
  const { order_pk, address } = await aCollection(db, { chain: CHAIN });
  await sql`insert into deposit_balance (chain, address, symbol, family, order_pk, received, since)
    values (${CHAIN}, ${address}, 'USDT', 'EVM', ${order_pk}, 100, now() - interval '2 days')`.execute(db);
  const plan = async (state: string, hours: number, method = 'TOP_UP', rent: bigint | null = null) => {
    const { rows } = await sql<{ sweep_id: string }>`
      insert into sweep (sweep_id, chain, family, address, symbol, amount, destination, destination_kind, method, cost_estimate, rent_cost, planned_at)
      values (gen_random_uuid(), ${CHAIN}, 'EVM', ${address}, 'USDT', 100, 'cold', 'COLD', ${method}, 1, ${rent},
        now() - make_interval(hours => ${hours})) returning sweep_id`.execute(db);
    const orderPk = crypto.randomUUID();
    await sql`select plan_movement(${JSON.stringify({
      orderPk,
      kind: 'GAS_TOP_UP',
      sweepId: rows[0]?.sweep_id,
      chain: CHAIN,
      symbol: 'ETH',
      contract: null,
      decimals: 18,
      displayDecimals: 6,
      amount: '7',
      wallet: HOT,
      receiver: address,
      seconds: 3_600,
    })}::jsonb)`.execute(db);
    await sql`update payout set money = 'PAID_OUT' where order_pk = ${orderPk}`.execute(db);
    if (state !== 'OPEN')
      await sql`update sweep set state = ${state}, ended_at = now() where sweep_id = ${rows[0]?.sweep_id}`.execute(
        db,
      );
  };
  await plan('FAILED', 5);
  await plan('DONE', 5);
  await plan('DONE', 5, 'RENT', 3n);
  await plan('ABANDONED', 5, 'RENT', 0n);
  await plan('ABANDONED', 5, 'RENT', 3n);
  await plan('OPEN', 3);
  const logged: string[] = [];
  const log = (message: string, fields?: object) => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const metrics = createMetrics('payout-signer');
  const loop = startWatchingSweeps({
    db: signer!.kysely,
    chains: [CHAIN, 'BSC_TEST'],
    logger: { info: log, warn: log },
    metrics,
    everyMs: 20,
  });
  const value = async (name: string, labels = '') => {
    const line = (await metrics.render())
      .split('\n')
      .find((text) => text.startsWith(`${name}{`) && text.includes(CHAIN) && text.includes(labels));
    return Number(line?.split(' ').at(-1));
  };
  await waitUntil('measured', async () => (await value('opentill_signer_sweeps_open_count')) === 1);
  expect(await value('opentill_signer_sweep_oldest_unswept_seconds')).toBeCloseTo(2 * 86_400, -3);
  expect(await value('opentill_signer_sweep_oldest_open_seconds')).toBeCloseTo(3 * 3_600, -3);
  expect(await value('opentill_signer_sweeps_failed_count')).toBe(1);
  expect(await value('opentill_signer_sweep_top_ups_unused_count')).toBe(3);
  expect(await value('opentill_signer_sweep_rents_unused_count')).toBe(1);
  expect(await value('opentill_signer_sweep_alarm_bool', 'sweep-stuck')).toBe(1);
  expect(await value('opentill_signer_sweep_alarm_bool', 'sweep-failed')).toBe(1);
  expect(await value('opentill_signer_sweep_alarm_bool', 'energy-unused')).toBe(1);
  await sql`update sweep set state = 'ABANDONED', ended_at = now() where state = 'OPEN'`.execute(db);
  await waitUntil('over', async () => (await value('opentill_signer_sweep_alarm_bool', 'sweep-stuck')) === 0);
  await loop.stop();
  expect(logged.map((line) => line.split(' {')[0])).toEqual([
    'alarm raised',
    'alarm raised',
    'alarm raised',
    'alarm cleared',
  ]);
});
