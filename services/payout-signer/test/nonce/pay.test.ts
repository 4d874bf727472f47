import { generateKeyPairSync, sign } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { dropTransaction, payToken, reorg, tokenBalance } from '@opentill/devnets/evm/start-evm-devnet';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import type { OrderRow } from '@opentill/testkit/scenario';
import type { NetworkKind } from '@opentill/domain/chains';
import { waitUntil } from '@opentill/testkit/wait-until';
import { approvalText } from '@opentill/wallet/policy/approval';
import { judgeByPolicy } from '../../src/policy/judge-by-policy.ts';
import type { PolicyJudge } from '../../src/policy/policy-port.ts';
import { policyCheckOf } from '../world/test-policy.ts';
import {
  CHAIN,
  createSignerWorld,
  ONE_ETH,
  USDT,
  type RunningDriver,
  type SignerWorld,
} from './signer-world.ts';

let world: SignerWorld;
let drivers: RunningDriver[] = [];
beforeAll(async () => {
  world = await createSignerWorld();
});
afterEach(async () => {
  const failures = drivers.flatMap((driver) => driver.failures);
  for (const driver of drivers) await driver.stop();
  drivers = [];
  expect(failures).toEqual([]);
});
afterAll(() => world.close());

const start = async (...given: Parameters<SignerWorld['start']>): Promise<RunningDriver> => {
  const driver = await world.start(...given);
  drivers.push(driver);
  return driver;
};

const isInPool = async (order: OrderRow): Promise<boolean> => {
  const [{ tx_hash: txHash } = { tx_hash: '' }] = await world.transactionsOf(order);
  return (await callRpc<unknown>(world.rpcUrl, 'eth_getTransactionByHash', [txHash])) !== null;
};

async function expectLandedOnce(orders: readonly OrderRow[]): Promise<void> {
  await world.land(orders);
  for (const order of orders) {
    expect(await world.received(order)).toBe(order.amount);
    expect((await world.noncesOf(order)).filter(({ state }) => state === 'FINAL')).toHaveLength(1);
  }
}

const awaitObstacle = (order: OrderRow, obstacle: string) => world.awaitObstacle(order, obstacle);

describe('payout on an EVM chain', () => {
  test('delivers the exact amount of a token and of native coin, once each', async () => {
    await start();
    const orders = [await world.payout(), await world.nativePayout(ONE_ETH / 3n)];
    await expectLandedOnce(orders);
    for (const order of orders) {
      expect(await world.payoutOf(order)).toEqual({
        state: 'SIGNED',
        sent: true,
        obstacle: null,
        reason: null,
      });
      expect(await world.transactionsOf(order)).toMatchObject([{ fate: 'VERIFIED' }]);
    }
    const notified = await sql<{ payload: string }>`select payload from signer.outbox`.execute(world.admin);
    const named = notified.rows.flatMap(
      (row) => (JSON.parse(row.payload) as { data: { orderPks: string[] } }).data.orderPks,
    );
    expect(named.toSorted()).toEqual(orders.map((order) => order.order_pk).toSorted());
  });

  test('sends only the same bytes again after a lost answer, and pays once', async () => {
    const outcomes: string[] = [];
    let losing = true;
    await start({
      sender: (sender) => ({
        ...sender,
        async broadcast(...given) {
          const real = await sender.broadcast(...given);
          outcomes.push(...real);
          return losing ? real.map(() => 'UNKNOWN' as const) : real;
        },
      }),
    });
    const order = await world.payout();
    await waitUntil('known', () => outcomes.includes('KNOWN'));
    await callRpc(world.rpcUrl, 'anvil_mine', ['0x1']);
    losing = false;
    await expectLandedOnce([order]);
    expect(await world.transactionsOf(order)).toHaveLength(1);
  });

  test('sends again when nodes are reachable after lost requests', async () => {
    let lost = 0;
    await start({
      sender: (sender) => ({
        ...sender,
        broadcast: (signed, options) => {
          lost += 1;
          return lost < 4
            ? Promise.resolve(signed.map(() => 'UNKNOWN' as const))
            : sender.broadcast(signed, options);
        },
      }),
    });
    const order = await world.payout();
    await waitUntil('sent thrice in vain', () => lost >= 3);
    expect(await world.payoutOf(order)).toMatchObject({ sent: true });
    await expectLandedOnce([order]);
    expect(await world.transactionsOf(order)).toHaveLength(1);
  });

  test('sends again after a pool forgot the transaction', async () => {
    await start();
    const order = await world.payout();
    await waitUntil('sent', async () => (await world.payoutOf(order)).sent);
    const [{ tx_hash: txHash } = { tx_hash: '' }] = await world.transactionsOf(order);
    await dropTransaction(world.rpcUrl, txHash);
    await waitUntil('in the pool again', () => isInPool(order));
    await expectLandedOnce([order]);
    expect(await world.transactionsOf(order)).toHaveLength(1);
  });

  test('replaces a transaction that offers too little with one of the same nonce', async () => {
    await start({ timing: { bumpAfterMs: 100 } });
    const order = await world.payout();
    await waitUntil('sent', async () => (await world.payoutOf(order)).sent);
    // Blocks at a price above the first offer. The signer counts those after the block at which it sent.
    await world.mineUntil('replaced', async () => {
      await callRpc(world.rpcUrl, 'anvil_setNextBlockBaseFeePerGas', ['0x1bf08eb000']);
      return (await world.transactionsOf(order)).length > 1;
    });
    const replaced = await world.transactionsOf(order);
    expect(new Set(replaced.map(({ nonce }) => nonce)).size).toBe(1);
    await callRpc(world.rpcUrl, 'anvil_setNextBlockBaseFeePerGas', ['0x3b9aca00']);
    await expectLandedOnce([order]);
  });

  test('sends again after a reorganisation, before and after finality', async () => {
    await start();
    const [soon, deep] = [await world.payout(), await world.payout()];
    await waitUntil('both sent', async () => (await world.payoutOf(deep)).sent);
    // A send with a late answer counts as sent, so the block must contain both transactions.
    await waitUntil('both in the pool', async () => (await isInPool(soon)) && (await isInPool(deep)));
    await world.mine();
    await waitUntil('seen', async () => (await world.transactionsOf(soon))[0]?.fate === 'MINED');
    await reorg({ rpcUrl: world.rpcUrl, depth: 1 });
    await expectLandedOnce([soon, deep]);
    await reorg({ rpcUrl: world.rpcUrl, depth: await depthOf(deep) });
    expect(await world.received(deep)).toBe(0n);
    await waitUntil('open again', async () => (await world.noncesOf(deep))[0]?.state === 'SIGNED');
    await expectLandedOnce([soon, deep]);
    expect(await world.transactionsOf(deep)).toHaveLength(1);
  });
});

describe('obstacle of a payout', () => {
  test('waits without coin for fees and continues after a top-up', async () => {
    await start();
    const before = await callRpc<string>(world.rpcUrl, 'eth_getBalance', [world.wallet, 'latest']);
    await callRpc(world.rpcUrl, 'anvil_setBalance', [world.wallet, '0x1']);
    const order = await world.payout();
    await awaitObstacle(order, 'NO_GAS');
    expect(await world.noncesOf(order)).toEqual([]);
    await callRpc(world.rpcUrl, 'anvil_setBalance', [world.wallet, before]);
    await expectLandedOnce([order]);
  });

  test('waits without tokens while other payouts continue, and continues after a top-up', async () => {
    await start();
    await drivers[0]!.stop();
    const rest = 100_000_000n;
    const held = await tokenBalance(world.rpcUrl, USDT, world.wallet);
    // The ledger does not know that the issuer removed tokens.
    await callRpc(world.rpcUrl, 'anvil_dealERC20', [world.wallet, USDT, `0x${rest.toString(16)}`]);
    await start();
    const [large, small] = [await world.payout({ amount: 2n * rest }), await world.payout()];
    await awaitObstacle(large, 'NO_TOKENS');
    await expectLandedOnce([small]);
    expect(await world.noncesOf(large)).toEqual([]);
    await payToken({
      rpcUrl: world.rpcUrl,
      token: USDT,
      fromKey: devAccount(1).privateKey,
      to: world.wallet,
      amountBaseUnits: held,
    });
    await expectLandedOnce([large]);
  });

  test('does not sign under a halt, but still sends signed payouts', async () => {
    await start();
    const signed = await world.payout();
    await waitUntil('sent', async () => (await world.payoutOf(signed)).sent);
    await sql`insert into wallet_halt (halt_id, chain, kind, reason, set_by)
      values (gen_random_uuid(), ${CHAIN}, 'OPERATOR', 'a test', 'test')`.execute(world.admin);
    const waiting = await world.payout();
    await awaitObstacle(waiting, 'HALTED');
    const [{ tx_hash: txHash } = { tx_hash: '' }] = await world.transactionsOf(signed);
    await dropTransaction(world.rpcUrl, txHash);
    await expectLandedOnce([signed]);
    expect(await world.payoutOf(waiting)).toMatchObject({ state: 'REQUESTED' });
    await sql`update wallet_halt set released_at = now() where released_at is null`.execute(world.admin);
    await expectLandedOnce([waiting]);
  });

  test('refuses a vetoed payout and releases its nonce', async () => {
    const order = await world.payout();
    await sql`insert into payout_veto (order_pk, operator, reason) values (${order.order_pk}, 'test', 'no')`.execute(
      world.admin,
    );
    await start();
    await world.reaches(order, 'REFUSED');
    expect(await world.payoutOf(order)).toMatchObject({ reason: 'Refused by operator' });
  });

  test('refuses an own address or a token contract as receiver', async () => {
    await start();
    const orders = [await world.payout({ address: world.wallet }), await world.payout({ address: USDT })];
    for (const order of orders) {
      await world.reaches(order, 'REFUSED');
      expect(await world.payoutOf(order)).toMatchObject({ reason: 'Receiver not allowed' });
    }
  });
});

describe('policy of the signer', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const approver = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex');
  const judge = (): PolicyJudge =>
    policyCheckOf(world.network, {
      asset: {
        maxPerPayout: '50',
        maxPerHour: '1000',
        maxPerDay: '1000',
        maxPerMerchantPerDay: '60',
        approvalAbove: '40',
      },
      more: { approvers: [{ name: 'alice', publicKey: approver }], approvalsRequired: 1 },
    });

  test('refuses payouts above its limits, also those that exceed them only together', async () => {
    const first = await world.payout({ amount: 50_000_000n - 10_000_001n });
    const { merchant_id: merchantId } = first;
    const [tooMuch, together] = [
      await world.payout({ amount: 50_000_001n, merchant_id: merchantId }),
      await world.payout({ amount: 30_000_000n, merchant_id: merchantId }),
    ];
    await start({ policy: judge() });
    await expectLandedOnce([first]);
    await world.reaches(tooMuch, 'REFUSED');
    await world.reaches(together, 'REFUSED');
    expect(await world.payoutOf(tooMuch)).toMatchObject({ reason: 'Limit per payout exceeded' });
    expect(await world.payoutOf(together)).toMatchObject({ reason: 'Limit per merchant and day exceeded' });
    expect(await world.transactionsOf(tooMuch)).toEqual([]);
  });

  test("waits for an approval with suspended expiry and accepts only the approver's key", async () => {
    const order = await world.payout({ amount: 45_000_000n });
    await start({ policy: judge() });
    await awaitObstacle(order, 'NEEDS_APPROVAL');
    const text = approvalText({
      chain: CHAIN,
      wallet: world.wallet,
      contract: USDT,
      symbol: 'USDT',
      amountBaseUnits: order.amount,
      receiver: order.address as never,
      merchantId: order.merchant_id,
      orderPk: order.order_pk,
    });
    const put = (signature: Buffer) =>
      sql`insert into payout_approval (order_pk, approver, signature) values (${order.order_pk}, ${approver}, ${signature})
        on conflict (order_pk, approver) do update set signature = excluded.signature`.execute(world.admin);
    await put(sign(null, Buffer.from(text.replace('45000000', '45000001')), privateKey));
    await sql`update payout set waiting_since = waiting_since - (expires_at - clock_timestamp()) - interval '1 hour',
      expires_at = clock_timestamp() - interval '1 second' where order_pk = ${order.order_pk}`.execute(
      world.admin,
    );
    expect(await world.payoutOf(order)).toMatchObject({ state: 'REQUESTED', obstacle: 'NEEDS_APPROVAL' });
    const { rows } = await sql`select * from expire_payouts(array[${order.order_pk}]::uuid[])`.execute(
      world.admin,
    );
    expect(rows).toEqual([]);
    await put(sign(null, Buffer.from(text), privateKey));
    await expectLandedOnce([order]);
  });

  test.each(['ETH', 'ETH_SEPOLIA', 'TRON_TEST'] as const)(
    'signs no payout on %s without a policy',
    (chain) => {
      const verdict = judgeByPolicy(undefined, 'test');
      expect(verdict.allowsChain(chain)).toBe(false);
      expect(verdict.judge({ chain } as never)).toEqual({ kind: 'OBSTACLE', obstacle: 'NO_POLICY' });
    },
  );

  test('signs payouts of test networks without a policy only in the local profile', () => {
    const judge = (kind: NetworkKind) => judgeByPolicy(undefined, kind, { isLocal: true });
    expect(judge('test').judge({ chain: 'TRON_TEST' } as never)).toEqual({ kind: 'AUTHORISED' });
    expect(judge('main').judge({ chain: 'TRON' } as never)).toEqual({
      kind: 'OBSTACLE',
      obstacle: 'NO_POLICY',
    });
    expect(judge('main').allowsChain('TRON')).toBe(false);
  });
});

async function depthOf(order: OrderRow): Promise<number> {
  const { rows } = await sql<{ height: number }>`
    select f.block_height as height from own_transaction_fate f join own_transaction t using (chain, tx_hash)
    where t.order_pk = ${order.order_pk}`.execute(world.admin);
  return Number(await callRpc<string>(world.rpcUrl, 'eth_blockNumber', [])) - (rows[0]?.height ?? 0) + 1;
}
