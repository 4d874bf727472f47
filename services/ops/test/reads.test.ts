import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import {
  OPS_OPERATIONS,
  OPS_ROUTES,
  type OpsAnswer,
  type OpsInput,
  type OpsOperation,
} from '@opentill/contracts/ops/catalog';
import type { OpsRoute } from '@opentill/contracts/ops/route';
import { newId } from '@opentill/runtime/ids';
import {
  aChainCursor,
  aCollection,
  aHash,
  aHotWallet,
  aMerchant,
  aPayout,
  aTransfer,
  type OrderRow,
} from '@opentill/testkit/scenario';
import { aFate, anOwnTransaction, aReservedPayout, aSignedPayout } from '@opentill/testkit/payout-scenario';
import { anOption, anOrderWithOptions, choose } from '@opentill/testkit/order-options';
import { openTestDatabase } from '@opentill/testkit/test-database';
import { selectOrders } from '../src/store/orders.ts';
import { startTestOps, type TestOps } from './support/test-ops.ts';

const RAW = Buffer.from('signed bytes that nobody may see');

const { testDatabase, admin } = await openTestDatabase();
let ops: TestOps;
let collection: OrderRow;
let payout: OrderRow;
let paidBy: string;
let sentBy: string;

beforeAll(async () => {
  ops = await startTestOps(testDatabase);
  await aMerchant(admin.kysely, { merchantId: 'shop' });
  await aChainCursor(admin.kysely, { chain: 'ETH_SEPOLIA', head_height: 110 });
  collection = await aCollection(admin.kysely, { order_pk: newId(), merchant_id: 'shop', order_id: 'c-1' });
  const transfer = await aTransfer(admin.kysely, collection);
  paidBy = transfer.tx_hash;
  await admin.kysely
    .insertInto('unmatched_deposit')
    .values({
      transfer_id: transfer.transfer_id,
      merchant_id: 'shop',
      order_pk: collection.order_pk,
      reason: 'LATE',
    })
    .execute();
  await createCallback(collection);
  payout = await aPayout(admin.kysely, { order_pk: newId(), merchant_id: 'shop', order_id: 'p-1' });
  await aHotWallet(admin.kysely);
  await sql`select reserve(${payout.order_pk}::uuid)`.execute(admin.kysely);
  sentBy = await createSignedTransaction(payout);
});
afterAll(() => ops.stop());

async function createCallback(order: OrderRow): Promise<void> {
  const key = { event_id: newId(), merchant_id: 'shop', subject_id: order.order_pk, sequence: 1 };
  await admin.kysely
    .insertInto('notification')
    .values({ ...key, notify_type: 'ORDER_PENDING', data: '{}', occurred_at: new Date() })
    .execute();
  // Queued behind an older callback: not due at any time.
  await admin.kysely
    .insertInto('delivery')
    .values({ ...key, attempts: 1, next_attempt_at: sql`'infinity'` as never })
    .execute();
  await admin.kysely
    .insertInto('delivery_attempt')
    .values({
      event_id: key.event_id,
      attempt: 1,
      started_at: new Date(),
      duration_ms: 12,
      status_code: 500,
      error_code: 'STATUS',
      error: 'no',
      response_excerpt: '<b>',
    })
    .execute();
}

/** @returns the hash of a sent transaction, as the signer leaves it */
async function createSignedTransaction(order: OrderRow): Promise<string> {
  const wallet = order.source_address ?? '';
  const chain = order.chain;
  const hash = aHash();
  await admin.kysely.updateTable('hot_wallet').set({ label: 'main' }).where('address', '=', wallet).execute();
  await admin.kysely
    .insertInto('wallet_nonce')
    .values({ chain, wallet, nonce: 0, state: 'SIGNED', order_pk: order.order_pk })
    .execute();
  await sql`insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address,
      amount, raw, fee_terms, signed_at)
    values (${chain}, ${hash}, 'EVM', ${wallet}, 0, 'PAYOUT', ${order.order_pk}::uuid, ${order.contract_address}, ${order.address},
      ${order.amount.toString()}::numeric, ${RAW}, '{"gasLimit":"60000","maxFeePerGas":"2","maxPriorityFeePerGas":"1"}', now())`.execute(
    admin.kysely,
  );
  await admin.kysely
    .insertInto('own_transaction_fate')
    .values({
      chain,
      tx_hash: hash,
      family: 'EVM',
      block_height: 105,
      block_hash: aHash(),
      block_time: new Date(),
      state: 'MINED',
      succeeded: true,
      delivered: order.amount,
      network_fee: 42n,
    })
    .execute();
  await admin.kysely
    .insertInto('hot_wallet_balance')
    .values({
      chain,
      wallet,
      symbol: 'USDT',
      contract_address: null,
      amount: 7_500_000n,
      block_height: 104,
      block_hash: aHash(),
      seen_at: new Date(),
    })
    .execute();
  return hash;
}

const idsOf = (answer: { readonly body: { readonly data: readonly { readonly orderPk: string }[] } }) =>
  answer.body.data.map(({ orderPk }: { orderPk: string }) => orderPk);

describe('order reads', () => {
  it.each([
    ['orderId', () => ({ orderId: 'c-1' }), () => [collection]],
    [
      'the deposit address, in any case',
      () => ({ address: collection.address.toUpperCase().replace('0X', '0x') }),
      () => [collection],
    ],
    ['the receiver of a payout', () => ({ address: payout.address }), () => [payout]],
    ['a transaction that paid it', () => ({ txid: paidBy }), () => [collection]],
    ['a transaction that was signed for it', () => ({ txid: sentBy }), () => [payout]],
    ['type and chain', () => ({ orderType: 'PAYOUT', chain: 'ETH_SEPOLIA' }), () => [payout]],
    ['merchant and status', () => ({ merchantId: 'shop', status: 'INIT' }), () => [payout, collection]],
    ['a time', () => ({ from: new Date(Date.now() - 60_000).toISOString() }), () => [payout, collection]],
    ['a time before', () => ({ until: new Date(Date.now() - 60_000).toISOString() }), () => []],
    ['another symbol', () => ({ symbol: 'USDC' }), () => []],
  ] as const)('finds orders by %s, newest first', async (_by, filter, expected) => {
    const answer = await ops.call('listOrders', filter(), 'VIEWER');
    expect(idsOf(answer)).toEqual(expected().map(({ order_pk }) => order_pk));
  });

  it('shows everything known of a collection', async () => {
    const { body } = await ops.call('getOrder', { orderPk: collection.order_pk }, 'VIEWER');
    expect(body.data).toMatchObject({
      order: { orderId: 'c-1', amount: '250.00', status: 'INIT' },
      chainCursor: { headHeight: 110, lagBlocks: 10 },
      transfers: [{ txHash: paidBy, amount: '250.00', booked: false, unmatchedReason: 'LATE' }],
      notifications: [
        { deliveryState: 'PENDING', nextAttemptAt: null, attemptList: [{ statusCode: 500, excerpt: '<b>' }] },
      ],
      payout: null,
    });
  });

  it('finds an order by any of its coins and by its link, and shows each coin', async () => {
    const options = [
      anOption('TRON_TEST', 'USDT', 53_900_000n),
      anOption('BSC_TEST', 'USDC', 53_910_000n),
      anOption('ETH_SEPOLIA', 'USDC', 53_950_000n),
    ] as const;
    const { merchantId: merchant_id } = await aMerchant(admin.kysely);
    await sql`insert into payment_link (merchant_id, link_id, link_code, currency, amount)
      values (${merchant_id}, 'summer', 'AAAAAAAAAAAAAAAAAAAAAA', 'EUR', '49.90')`.execute(admin.kysely);
    const of = { merchant_id, link_id: 'summer' };
    const order = await anOrderWithOptions(admin.kysely, options, of);
    const find = async (filter: OpsInput<'listOrders'>) => {
      const answer = await ops.call('listOrders', { merchantId: merchant_id, ...filter }, 'VIEWER');
      return idsOf(answer);
    };
    const filters: readonly OpsInput<'listOrders'>[] = [
      { chain: 'BSC_TEST' },
      { symbol: 'usdc' },
      { chain: 'ETH_SEPOLIA', symbol: 'USDC' },
      { linkId: 'summer' },
    ];
    for (const filter of filters) expect(await find(filter)).toEqual([order.order_pk]);
    expect(await find({ chain: 'ETH_SEPOLIA', symbol: 'USDT' })).toEqual([]);
    expect(await find({ linkId: 'winter' })).toEqual([]);

    const { address } = await choose(admin.kysely, order, options[2]);
    const { body } = await ops.call('listOrders', { linkId: 'summer' }, 'VIEWER');
    const shown = [
      { chain: 'TRON_TEST', symbol: 'USDT', amount: '53.90', address: null, isCurrent: false },
      { chain: 'BSC_TEST', amount: '53.91', address, chosenAt: null, isCurrent: false },
      { chain: 'ETH_SEPOLIA', amount: '53.95', address, isCurrent: true },
    ];
    expect(body.data).toMatchObject([{ linkId: 'summer', address, amount: '53.95', options: shown }]);
    const { body: detail } = await ops.call('getOrder', { orderPk: order.order_pk }, 'VIEWER');
    expect(detail.data).toMatchObject({ order: { linkId: 'summer' }, options: shown });
    const cursors = (detail.data as OpsAnswer<'getOrder'>).options.map(({ chainCursor }) => chainCursor);
    expect(cursors).toMatchObject([null, null, { headHeight: 110 }]);
  });

  it('shows everything known of a payout except its signed bytes', async () => {
    const { body, text } = await ops.call('getOrder', { orderPk: payout.order_pk }, 'VIEWER');
    expect(body.data).toMatchObject({
      payout: { state: 'REQUESTED', wallet: payout.source_address, receiver: payout.address },
      nonces: [{ nonce: 0, state: 'SIGNED' }],
      ownTransactions: [
        {
          txHash: sentBy,
          attempt: null,
          fate: { state: 'MINED', deliveredBaseUnits: '250000000', networkFeeBaseUnits: '42' },
        },
      ],
      ledger: [{ kind: 'RESERVE', postings: [expect.anything(), expect.anything()] }],
    });
    for (const form of ['base64', 'hex', 'utf8'] as const) expect(text).not.toContain(RAW.toString(form));
    expect(text).not.toContain('raw');
  });
});

describe('lists', () => {
  it('lists hot wallets with balances and open nonces', async () => {
    const { body } = await ops.call('listHotWallets', {}, 'VIEWER');
    expect(body.data).toMatchObject([
      {
        address: payout.source_address,
        label: 'main',
        balances: [{ amount: '7.50', blockHeight: 104 }],
        openNonces: [{ nonce: 0 }],
      },
    ]);
  });

  it('lists chains with cursor and scanner, and only the host of provider URLs', async () => {
    await sql`insert into scanner_evm.lease values ('chain:ETH_SEPOLIA', 'replica-1#0123456789ab', 3, now() + interval '10 minutes')`.execute(
      admin.kysely,
    );
    await sql`insert into signer.lease values ('wallet/ETH_SEPOLIA', 'signer-1', 3, now() - interval '10 s')`.execute(
      admin.kysely,
    );
    const { body, text } = await ops.call('listChains', {}, 'VIEWER');
    expect(body.data[0]).toMatchObject({
      endpoints: ['node.example', 'other.example:8443'],
      scanner: { holder: 'replica-1', expired: false },
      signers: [{ lease: 'wallet/ETH_SEPOLIA', holder: 'signer-1', expired: true }],
    });
    for (const secret of ['hunter2', 'rpc-key-7c1', 'rpc-key-7c2']) expect(text).not.toContain(secret);
    const services = await ops.call('listServices', {}, 'VIEWER');
    expect(services.body.data).toContainEqual({ service: 'ops', instances: ['ops-under-test'] });
  });

  it('lists ledger balances that sum to zero', async () => {
    const { body } = await ops.call('listBalances', { chain: 'ETH_SEPOLIA' }, 'VIEWER');
    const sum = body.data.reduce(
      (total: bigint, { balanceBaseUnits }: { balanceBaseUnits: string }) => total + BigInt(balanceBaseUnits),
      0n,
    );
    expect(sum).toBe(0n);
    expect(body.data).toContainEqual(expect.objectContaining({ account: 'HOT_RESERVED', balance: '250.00' }));
  });

  it('lists the sweep plan with costs and the price paid for energy', async () => {
    const coins = (part: bigint) => `${part * 10n ** 15n}`;
    const sweep = { address: collection.address, symbol: 'USDT', amount: '1500000', method: 'TOP_UP' };
    const plan = {
      gasPrice: '7',
      budgetLeft: coins(900n),
      begin: [
        { ...sweep, cost: coins(12n), topUp: coins(9n), destination: 'HOT' },
        // Format of earlier signers.
        { ...sweep, cost: coins(1n), destination: 'COLD' },
      ],
      toCold: [{ symbol: 'USDT', amount: '1500000', cost: coins(2n) }],
      waiting: { NOT_CONFIGURED: 2 },
    };
    await sql`insert into sweep_plan (chain, plan) values ('ETH_SEPOLIA', ${JSON.stringify(plan)}::jsonb)`.execute(
      admin.kysely,
    );
    const { body } = await ops.call('listSweepPlans', {}, 'VIEWER');
    expect(body.data).toMatchObject([
      {
        begin: [
          { cost: '0.012', topUp: '0.009' },
          { cost: '0.001', topUpBaseUnits: '0' },
        ],
        toCold: [{ costBaseUnits: coins(2n), cost: '0.002' }],
        totalCost: '0.015',
        totalTopUpBaseUnits: coins(9n),
        totalTopUp: '0.009',
        waiting: [{ reason: 'NOT_CONFIGURED', count: 2 }],
      },
    ]);
    await sql`insert into sweep (sweep_id, chain, family, address, symbol, amount, destination, destination_kind, method, cost_estimate,
        rent_cost, rent_ref, rent_ordered_at)
      values (${newId()}, 'ETH_SEPOLIA', 'EVM', ${collection.address}, 'USDT', 1, 'cold', 'COLD', 'RENT', 1, ${coins(3n)}, 'o-1', now())`.execute(
      admin.kysely,
    );
    const sweeps = await ops.call('listSweeps', {}, 'VIEWER');
    expect(sweeps.body.data).toMatchObject([
      { rentCostBaseUnits: coins(3n), rentCost: '0.003', rentRef: 'o-1', rentOrderedAt: expect.any(String) },
    ]);
  });

  it('filters payouts by what they wait for', async () => {
    expect((await ops.call('listPayouts', { waitingForApproval: true })).body.data).toEqual([]);
    await admin.kysely
      .updateTable('payout')
      .set({ waiting_since: new Date(), obstacle: 'NEEDS_APPROVAL', obstacle_at: new Date() })
      .where('order_pk', '=', payout.order_pk)
      .execute();
    for (const filter of [
      { waitingForApproval: true },
      { stuck: true },
      { state: 'REQUESTED', merchantId: 'shop' },
    ]) {
      const { body } = await ops.call('listPayouts', filter, 'VIEWER');
      expect(body.data).toMatchObject([
        { orderPk: payout.order_pk, waitingForApproval: true, obstacle: 'NEEDS_APPROVAL' },
      ]);
    }
  });

  it('lists stuck payouts with signed ones that need a decision, without ended ones', async () => {
    const reserved = async (): Promise<string> => {
      const { order_pk: orderPk } = await aPayout(admin.kysely, { order_pk: newId(), merchant_id: 'shop' });
      await sql`select reserve(${orderPk}::uuid)`.execute(admin.kysely);
      return orderPk;
    };
    const [signed, ended] = [await reserved(), await reserved()];
    await sql`update payout set state = 'AUTHORISED', authorised_at = now() where order_pk = ${signed}`.execute(
      admin.kysely,
    );
    await sql`update payout set state = 'SIGNED', obstacle = 'NEEDS_DECISION', obstacle_at = now() where order_pk = ${signed}`.execute(
      admin.kysely,
    );
    await sql`update payout set state = 'EXPIRED', reason = 'Payout expired', obstacle = 'NO_GAS', obstacle_at = now()
      where order_pk = ${ended}`.execute(admin.kysely);
    const listed = async (stuck: boolean): Promise<readonly string[]> => {
      const { body } = await ops.call('listPayouts', { stuck, limit: 100 }, 'VIEWER');
      return (body.data as readonly { orderPk: string }[]).map(({ orderPk }) => orderPk);
    };
    expect(await listed(true)).toContain(signed);
    expect(await listed(true)).not.toContain(ended);
    expect(await listed(false)).toContain(ended);
    expect(await listed(false)).not.toContain(signed);
  });

  it('lists stuck payouts with those that no block takes, by nonce or by time', async () => {
    const db = admin.kysely;
    await aChainCursor(db, { chain: 'TRON_TEST', head_height: 110, verified_time: new Date(2_000_000) });
    const hotWallet = (await aPayout(db, { order_pk: newId(), chain: 'TRON_TEST', family: 'TRON' }))
      .source_address;
    const onNonce = async (minutesAgo: number) => {
      const { order, transaction } = await aSignedPayout(db, { order_pk: newId(), merchant_id: 'shop' });
      await sql`update own_transaction set signed_at = now() - ${minutesAgo} * interval '1 minute', send_outcome = 'UNDERPRICED'
        where tx_hash = ${transaction.tx_hash}`.execute(db);
      return { orderPk: order.order_pk, transaction };
    };
    const byTime = async (minutesAgo: number, expiresMs: number) => {
      const order = await aReservedPayout(db, {
        order_pk: newId(),
        merchant_id: 'shop',
        chain: 'TRON_TEST',
        family: 'TRON',
        source_address: hotWallet,
      });
      const orderPk = order.order_pk;
      await sql`update payout set state = 'AUTHORISED', authorised_at = now() where order_pk = ${orderPk}`.execute(
        db,
      );
      const transaction = await anOwnTransaction(db, order, {
        nonce: null,
        signed_at: new Date(Date.now() - minutesAgo * 60_000),
      });
      await sql`insert into payout_attempt (chain, tx_hash, wallet, order_pk, unique_ms, expires_ms, reference_height, reference_hash)
        values ('TRON_TEST', ${transaction.tx_hash}, ${hotWallet}, ${orderPk}, ${expiresMs}, ${expiresMs}, 1, 'b')`.execute(
        db,
      );
      await sql`update payout set state = 'SIGNED' where order_pk = ${orderPk}`.execute(db);
      return { orderPk, transaction };
    };
    const [waiting, fresh, mined] = [await onNonce(11), await onNonce(9), await onNonce(11)];
    await aFate(db, mined.transaction, 'MINED');
    const [over, flying, landed] = [
      await byTime(1, 1_999_000),
      await byTime(1, 3_000_000),
      await byTime(11, 1_998_000),
    ];
    await aFate(db, landed.transaction, 'VERIFIED');
    const obstacles = async (stuck: boolean) => {
      const { body } = await ops.call('listPayouts', { stuck, limit: 100 }, 'VIEWER');
      const rows = body.data as readonly {
        orderPk: string;
        obstacle: string | null;
        obstacleAt: string | null;
      }[];
      return new Map(
        rows.map(({ orderPk, obstacle, obstacleAt }) => [orderPk, [obstacle, obstacleAt !== null]]),
      );
    };
    const [stuck, others] = [await obstacles(true), await obstacles(false)];
    expect(stuck.get(waiting.orderPk)).toEqual(['IN_FLIGHT: UNDERPRICED', true]);
    expect(stuck.get(over.orderPk)).toEqual(['UNPROVEN', true]);
    for (const { orderPk } of [waiting, over]) expect(others.has(orderPk)).toBe(false);
    for (const { orderPk } of [fresh, mined, flying, landed]) {
      expect(stuck.has(orderPk)).toBe(false);
      expect(others.get(orderPk)).toEqual([null, false]);
    }
    await sql`insert into foreign_transaction (chain, wallet, tx_hash, block_height, block_hash, block_time, contract_address,
        to_address, amount)
      select p.chain, p.wallet, 'foreign', 1, 'b', now(), o.contract_address, o.address, o.amount
      from payout p join orders o using (order_pk) where p.order_pk = ${over.orderPk}`.execute(db);
    expect((await ops.call('getPayout', { orderPk: over.orderPk }, 'VIEWER')).body.data).toMatchObject({
      obstacle: 'NEEDS_DECISION',
    });
  });

  it('shows the halt on the chain and on each waiting payout', async () => {
    const db = admin.kysely;
    const given = { order_pk: newId(), merchant_id: 'shop' };
    const requested = await aReservedPayout(db, given);
    const signed = async () => {
      const { order, transaction } = await aSignedPayout(db, { order_pk: newId(), merchant_id: 'shop' });
      return { orderPk: order.order_pk, transaction };
    };
    const [flying, mined, final] = [await signed(), await signed(), await signed()];
    await aFate(db, mined.transaction, 'MINED');
    await aFate(db, final.transaction, 'VERIFIED');
    await sql`update wallet_nonce set state = 'FINAL' where order_pk = ${final.orderPk}`.execute(db);
    await sql`insert into chain_status (chain, service, state, reason)
      values ('ETH_SEPOLIA', 'SCANNER', 'HALTED', 'REORG_TOO_DEEP'), ('ETH_SEPOLIA', 'SIGNER', 'RUNNING', null)`.execute(
      db,
    );
    const chains = await ops.call('listChains', {}, 'VIEWER');
    expect(chains.body.data[0]).toMatchObject({ status: { state: 'HALTED', reason: 'REORG_TOO_DEEP' } });
    const { body } = await ops.call('listPayouts', { stuck: true, limit: 100 }, 'VIEWER');
    const rows = body.data as readonly { orderPk: string; obstacle: string; obstacleAt: string | null }[];
    const shown = new Map(rows.map((row) => [row.orderPk, row]));
    for (const orderPk of [requested.order_pk, flying.orderPk, mined.orderPk])
      expect(shown.get(orderPk)).toMatchObject({ obstacle: 'CHAIN_HALTED', obstacleAt: expect.any(String) });
    expect(shown.has(final.orderPk)).toBe(false);
    await sql`delete from chain_status`.execute(db);
  });

  it.each(
    OPS_OPERATIONS.filter((id) => (OPS_ROUTES[id] as OpsRoute).kind === 'LIST').map((id) => [id] as const),
  )('%s answers as documented and rejects the cursor of another list', async (id) => {
    const page = await ops.call(id, { limit: 1 }, 'VIEWER');
    expect(page.status).toBe(200);
    expect(page.body.data.length).toBeLessThanOrEqual(1);
    const odd = await ops.call(
      id,
      { cursor: Buffer.from("'; drop table orders; --").toString('base64url') },
      'VIEWER',
    );
    expect(odd.body.error.code).toBe('CURSOR_INVALID');
  });
});

describe('paging', () => {
  it('shows each order once while orders are added', async () => {
    const before: string[] = [];
    for (let i = 0; i < 7; i += 1) {
      const order = await aCollection(admin.kysely, { order_pk: newId(), merchant_id: 'shop', uid: 'paged' });
      before.push(order.order_pk);
    }
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { body } = await ops.call(
        'listOrders',
        { merchantId: 'shop', limit: 3, ...(cursor && { cursor }) },
        'VIEWER',
      );
      seen.push(
        ...body.data
          .filter(({ uid }: { uid: string | null }) => uid === 'paged')
          .map(({ orderPk }: { orderPk: string }) => orderPk),
      );
      cursor = body.nextCursor ?? undefined;
      await aCollection(admin.kysely, { order_pk: newId(), merchant_id: 'shop', uid: 'paged' });
    } while (cursor !== undefined);
    expect(seen).toEqual(before.toReversed());
  });
});

it.each(['PENDING', 'PENDING_CONFIRMATION', 'FAILED'] as const)(
  'reads a page of orders in %s without the other orders',
  async (status) => {
    const explained = await admin.kysely.transaction().execute(async (tx) => {
      await sql`set local session_replication_role = replica`.execute(tx);
      await sql`insert into orders (order_pk, merchant_id, order_id, order_type, status, chain, family, symbol, decimals,
          display_decimals, amount, accepted_amount, address, created_at, expires_at)
        select gen_random_uuid(), 'shop', 'many-' || n, 'COLLECTION', 'SUCCESS', 'ETH_SEPOLIA', 'EVM', 'USDT', 6, 2, 1, 1, '0x', now(), now()
        from generate_series(1, 2000) n`.execute(tx);
      await sql`analyze orders`.execute(tx);
      const rows = await selectOrders(tx, { status }, undefined, 51).explain();
      await sql`delete from orders where order_id like 'many-%'`.execute(tx);
      return JSON.stringify(rows);
    });
    expect(explained).toContain('orders_rare_status');
  },
);

const ATTACKS = ["' or '1'='1", "0x' union select raw from own_transaction --", '%', '\\', '\u0000'];

describe('filters', () => {
  it.each(ATTACKS)('treats %j as a value that is rejected or matches no row', async (attack) => {
    const answers = [];
    for (const id of OPS_OPERATIONS) {
      const route: OpsRoute = OPS_ROUTES[id];
      if (route.kind !== 'LIST' && route.kind !== 'READ') continue;
      const properties = {
        ...(route.query['properties'] as object),
        ...(route.params['properties'] as object),
      };
      const texts = Object.keys(properties).filter((name) => !['limit', 'cursor'].includes(name));
      for (const name of texts) answers.push(await ask(id, name, attack));
    }
    for (const { id, name, status, size } of answers) {
      expect({
        id,
        name,
        status: status === 400 || status === 404 || (status === 200 && size === 0),
      }).toEqual({ id, name, status: true });
    }
    expect(answers.length).toBeGreaterThan(40);
    await admin.kysely.selectFrom('orders').select('order_pk').limit(1).executeTakeFirstOrThrow();
  });

  async function ask(id: OpsOperation, name: string, attack: string) {
    const others = Object.fromEntries(
      [...OPS_ROUTES[id].path.matchAll(/\{(\w+)\}/g)].map((match) => [match[1] ?? '', 'x']),
    );
    const { status, body } = await ops.call(id, { ...others, [name]: attack }, 'VIEWER');
    return { id, name, status, size: body.data?.length ?? 0 };
  }
});
