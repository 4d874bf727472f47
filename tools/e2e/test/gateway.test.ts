import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { getAddress, Transaction } from 'ethers';
import type { OrderAnswer } from '@opentill/contracts/http/answers';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { sendTransaction, signTransaction } from '@opentill/devnets/evm/transactions';
import { restoreSnapshot, takeSnapshot } from '@opentill/devnets/evm/start-evm-devnet';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { contractInterface } from '@opentill/devnets/evm/contract-artifacts';
import type { NotifyCollect } from '@opentill/contracts/notify-collect';
import type { Db } from '@opentill/db/database';
import type { Chain } from '@opentill/domain/chains';
import { formatAmount } from '@opentill/domain/money';
import type { EvmDevnetChain } from '@opentill/local/gateway-options';
import { readStartOptions } from '@opentill/local/read-start-options';
import { findFreePort } from '@opentill/test-servers/free-port';
import { waitUntil } from '@opentill/testkit/wait-until';
import { startCallbackReceiver, type ReceivedCallback } from '../src/callback-receiver.ts';
import {
  findCallbackProblems,
  findChainProblems,
  findLedgerProblems,
  findPayoutProblems,
} from '../src/check-books.ts';
import type { ChainUnderTest } from '../src/chain-under-test.ts';
import { findAccessibilityProblems } from '../src/find-accessibility-problems.ts';
import { HAS_BROWSER, openBrowser, type BrowserUnderTest } from '../src/open-browser.ts';
import { runOpentill, type CommandResult } from '../src/run-opentill.ts';
import { CHECKOUT } from '../src/read-markdown.ts';
import { readRunningGateway, type RunningGateway } from '../src/running-gateway.ts';
import { createGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { CONFIRMING, CREATED, EXPIRED, PAID, PENDING, untilStory } from '../src/stories.ts';
import { TEST_LIMIT_MS, WAIT_MS } from '../src/time-limits.ts';
import { describeAttackers } from './describe-attackers.ts';
import { describeCheckout } from './describe-checkout.ts';
import { describeNpmStart } from './describe-npm-start.ts';
import { describePayouts } from './describe-payouts.ts';
import { describeSdk } from './describe-sdk.ts';
import { describeSecrets } from './describe-secrets.ts';
import { describeTron } from './describe-tron.ts';
import { openStartedGateway, type StartedGateway } from './started-gateway.ts';

const CONFIRMATIONS = 3;
const COLD_ADDRESS = '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720';

vi.setConfig({ testTimeout: TEST_LIMIT_MS, hookTimeout: TEST_LIMIT_MS });

/** Defaults of `npm start`. */
const { token: merchantToken, webhookSecret } = readStartOptions({
  args: [],
  env: {},
  isRoot: false,
  checkout: CHECKOUT,
}).merchant;

let started: StartedGateway;
let test: GatewayUnderTest<RunningGateway>;
let eth: ChainUnderTest;
let bsc: ChainUnderTest;

/** The default tests share the gateway that a newcomer starts. Only its callbacks pass the tests' receiver. */
beforeAll(async () => {
  started = await openStartedGateway();
  const receiver = await startCallbackReceiver(await findFreePort(), webhookSecret);
  await started.start([], { CALLBACK_URL: receiver.url });
  const gateway = await readRunningGateway(started.stateDir);
  receiver.forwardTo(`${gateway.shopUrl}/callbacks`);
  test = createGatewayUnderTest({ gateway, merchantToken, webhookSecret, receiver, stop: receiver.close });
  eth = test.chains.ETH_SEPOLIA;
  bsc = test.chains.BSC_TEST;
});
afterAll(async () => {
  await test?.stop();
  await started?.remove();
});

describeNpmStart(() => started);

interface OrderOptions {
  readonly amount?: string;
  readonly symbol?: string;
  readonly expiresIn?: number;
  readonly description?: string;
  readonly returnUrl?: string;
}

async function order(chain: ChainUnderTest, options: OrderOptions = {}): Promise<OrderAnswer> {
  const orderId = test.newOrderId();
  const fields = { orderId, amount: '100', symbol: 'USDT', chain: chain.chain, ...options };
  const answer = await test.merchant.createCollection(fields);
  expect(answer).toMatchObject({ httpStatus: 200, code: 200, msg: 'success' });
  return answer.data!;
}

async function payThroughShop(body: Readonly<Record<string, string>>): Promise<string> {
  const response = await fetch(`${test.gateway.shopUrl}/devnet/pay`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { txid: string }).txid;
}

async function untilLast({ orderId }: OrderAnswer, last: string): Promise<ReceivedCallback> {
  await waitUntil(`${orderId}: ${last}`, () => test.receiver.story(orderId).at(-1) === last, WAIT_MS).catch(
    () => undefined,
  );
  const { story, of } = test.receiver;
  expect([orderId, ...story(orderId)].at(-1)).toBe(last);
  return of(orderId).at(-1)!;
}

const lastOf = ({ orderId }: OrderAnswer) => test.receiver.of(orderId).at(-1)!.data;

async function transfersTo(collection: OrderAnswer) {
  return test.database.kysely
    .selectFrom('transfer as t')
    .leftJoin('transfer_settlement as s', 's.transfer_id', 't.transfer_id')
    .leftJoin('unmatched_deposit as u', 'u.transfer_id', 't.transfer_id')
    .select([
      't.tx_hash',
      't.chain',
      't.symbol',
      't.state',
      's.booked',
      's.credited',
      'u.reason',
      'u.withdrawn',
    ])
    .where('t.to_address', '=', collection.address.toLowerCase())
    .orderBy('t.transfer_id')
    .execute();
}

const orderRow = (collection: OrderAnswer) =>
  test.database.kysely
    .selectFrom('orders')
    .selectAll()
    .where('order_id', '=', collection.orderId)
    .executeTakeFirstOrThrow();

async function untilUnmatched(collection: OrderAnswer, reason: string): Promise<void> {
  await waitUntil(
    `an unmatched deposit: ${reason}`,
    async () => (await transfersTo(collection)).some((transfer) => transfer.reason === reason),
    WAIT_MS,
  );
}

/** The transaction that a callback and GET status must show, computed only from the chain. */
async function transactionOf(chain: ChainUnderTest, collection: OrderAnswer, txid: string, amount: string) {
  const mined = await chain.mined(txid);
  return {
    chain: chain.chain,
    symbol: collection.symbol,
    contractAddress: chain.contractOf(collection.symbol),
    decimals: chain.decimalsOf(collection.symbol),
    txid,
    from: mined.from,
    to: getAddress(collection.address.toLowerCase()),
    amount,
    blockNum: mined.blockNum,
    timestamp: mined.timestamp,
    txGas: formatAmount(mined.fee, chain.nativeDecimals, 0),
  };
}

describe('a collection', () => {
  it.concurrent.each([
    ['ETH_SEPOLIA', 'USDT', '12.5', '12.50', 'shop'],
    ['ETH_SEPOLIA', 'USDC', '0.010001', '0.010001', 'raw'],
    ['BSC_TEST', 'USDT', '1.000000000000000001', '1.000000000000000001', 'raw'],
    ['BSC_TEST', 'USDC', '250', '250.00', 'shop'],
  ] as const)(
    'on %s in %s of %s completes with signed callbacks and exact amounts',
    async (chainName, symbol, amount, shown, way) => {
      const chain = test.chains[chainName as EvmDevnetChain];
      const askedAt = Math.floor(Date.now() / 1000);
      const collection = await order(chain, { symbol, amount });
      const answeredAt = Math.floor(Date.now() / 1000);
      expect(collection).toMatchObject({ amount: shown, symbol, chain: chainName, uid: null });
      expect(collection.address).toBe(getAddress(collection.address.toLowerCase()));
      expect(collection.expiredTime).toBeGreaterThanOrEqual(askedAt + 1_800);
      expect(collection.expiredTime).toBeLessThanOrEqual(answeredAt + 1_800);

      const txid =
        way === 'shop'
          ? await payThroughShop({ orderId: collection.orderId })
          : await payWithOwnNonce(chain, collection);
      await untilStory(test.receiver, collection, [CREATED, CONFIRMING, PAID]);

      const transaction = await transactionOf(chain, collection, txid, shown);
      const [created, confirming, paid] = test.receiver.of(collection.orderId);
      const common = { orderId: collection.orderId, uid: null, orderType: 'COLLECTION', reason: null };
      const money = { amount: shown, fee: '0', feeRatio: '0' };
      expect(created?.data).toEqual({
        ...common,
        ...money,
        status: 'INIT',
        actualAmount: null,
        transaction: null,
      });
      expect(confirming?.data).toMatchObject({
        ...common,
        ...money,
        status: 'PENDING_CONFIRMATION',
        actualAmount: null,
      });
      expect(confirming?.data.transaction).toMatchObject({ ...transaction, status: 'PENDING' });
      expect(paid?.data).toMatchObject({ ...common, ...money, status: 'SUCCESS', actualAmount: shown });
      expect(paid?.data.transaction).toMatchObject({ ...transaction, status: 'SUCCESS' });
      expect(confirming!.data.transaction!.confirmedNum).toBeGreaterThanOrEqual(1);
      expect(paid!.data.transaction!.confirmedNum).toBeGreaterThanOrEqual(CONFIRMATIONS);
      expect(test.receiver.of(collection.orderId).flatMap(({ problems }) => problems)).toEqual([]);

      const status = await test.merchant.status(collection.orderId);
      expect(status).toMatchObject({ httpStatus: 200, code: 200, msg: 'success' });
      expect(status.data).toEqual({
        ...paid!.data,
        unmatched: [],
        transaction: { ...paid!.data.transaction, confirmedNum: expect.any(Number) },
      });
      expect(status.data!.transaction!.confirmedNum).toBeGreaterThanOrEqual(CONFIRMATIONS);
      const pay = await test.merchant.pay(collection.orderId);
      expect(pay.data).toMatchObject({
        orderId: collection.orderId,
        status: 'SUCCESS',
        amount: shown,
        actualAmount: shown,
        receivedAmount: shown,
        txid,
        address: collection.address,
        requiredConfirmations: CONFIRMATIONS,
        expiredTime: collection.expiredTime,
      });
      expect((await test.merchant.getOrderStatus(collection.orderId)).data).toEqual({
        status: 'SUCCESS',
        unmatched: [],
      });
    },
  );

  /** Pays like an independent wallet: with its own nonce, as a raw transaction. */
  async function payWithOwnNonce(
    chain: ChainUnderTest,
    { address, symbol, amount }: OrderAnswer,
  ): Promise<string> {
    const { privateKey } = devAccount(3);
    const amountBaseUnits = chain.baseUnits(symbol, amount);
    const data = contractInterface('UsdcLike').encodeFunctionData('transfer', [address, amountBaseUnits]);
    return sendTransaction({ rpcUrl: chain.rpcUrl, fromKey: privateKey, to: chain.contractOf(symbol), data });
  }

  it.concurrent('sends verifiable callbacks to the demo shop', async () => {
    const collection = await order(eth);
    await untilStory(test.receiver, collection, [CREATED]);
    let received: readonly unknown[] = [];
    const isThere = async () => {
      const response = await fetch(`${test.gateway.shopUrl}/callbacks.json?orderId=${collection.orderId}`);
      received = (await response.json()) as readonly unknown[];
      return received.length > 0;
    };
    await waitUntil('the shop has the callback', isThere, WAIT_MS);
    // The newest is first. A callback that was answered late is repeated.
    expect(received.at(-1)).toMatchObject({ verified: true, notifyType: 'ORDER_PENDING', repeats: 0 });
  });

  it.concurrent('is created once for repeated requests, and answers 409 to other terms', async () => {
    const fields = { orderId: test.newOrderId(), amount: '5', symbol: 'USDT', chain: 'ETH_SEPOLIA' };
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => test.merchant.createCollection(fields)),
    );
    expect(new Set(answers.map(({ data }) => JSON.stringify(data))).size).toBe(1);
    const other = await test.merchant.createCollection({ ...fields, amount: '6' });
    expect(other).toMatchObject({ httpStatus: 409, code: 409, msg: 'Order ID already exists.', data: null });
    await untilStory(test.receiver, answers[0]!.data!, [CREATED]);
  });
});

// Concurrent tests pay from different accounts, whose nonces would collide.
describe('payments of a collection', () => {
  it.concurrent('reports each partial payment, and SUCCESS after the last one', async () => {
    const collection = await order(eth);
    await eth.pay({ to: collection.address, amount: '40' });
    await untilStory(test.receiver, collection, [CREATED, PENDING]);
    expect(lastOf(collection)).toMatchObject({
      amount: '100.00',
      transaction: { amount: '40.00', status: 'PENDING' },
    });
    expect((await test.merchant.pay(collection.orderId)).data).toMatchObject({
      receivedAmount: '40.00',
      status: 'PENDING',
    });
    const txid = await eth.pay({ to: collection.address, amount: '60', account: 3 });
    await untilStory(test.receiver, collection, [CREATED, PENDING, CONFIRMING, PAID]);
    expect(lastOf(collection)).toMatchObject({
      actualAmount: '100.00',
      transaction: { txid, amount: '60.00' },
    });
  });

  it.concurrent('counts an overpayment, and records a payment after SUCCESS as unmatched', async () => {
    const collection = await order(bsc);
    await bsc.pay({ to: collection.address, amount: '120.5' });
    await untilStory(test.receiver, collection, [CREATED, CONFIRMING, PAID]);
    expect(lastOf(collection)).toMatchObject({ amount: '100.00', actualAmount: '120.50' });
    await bsc.pay({ to: collection.address, amount: '7' });
    await untilUnmatched(collection, 'AFTER_SUCCESS');
    expect((await test.merchant.status(collection.orderId)).data).toMatchObject({
      status: 'SUCCESS',
      actualAmount: '120.50',
    });
    expect(test.receiver.story(collection.orderId)).toEqual([CREATED, CONFIRMING, PAID]);
  });

  it.concurrent('records a wrong token and a wrong chain as unmatched', async () => {
    const collection = await order(eth);
    await eth.pay({ to: collection.address, amount: '100', symbol: 'USDC', account: 4 });
    await bsc.pay({ to: collection.address, amount: '100', account: 4 });
    await untilUnmatched(collection, 'WRONG_TOKEN');
    await untilUnmatched(collection, 'WRONG_CHAIN');
    expect((await test.merchant.status(collection.orderId)).data).toMatchObject({
      status: 'INIT',
      transaction: null,
    });
    await untilStory(test.receiver, collection, [CREATED]);
    const txid = await eth.pay({ to: collection.address, amount: '100', account: 4 });
    await untilStory(test.receiver, collection, [CREATED, CONFIRMING, PAID]);
    expect(lastOf(collection)).toMatchObject({ actualAmount: '100.00', transaction: { txid } });
  });

  it('sends one confirmation callback for three payments of one block', async () => {
    const collection = await order(eth);
    await eth.mineByHand();
    for (const amount of ['30', '30', '40']) await eth.pay({ to: collection.address, amount });
    await eth.mine();
    await eth.mineByTime();
    await untilStory(test.receiver, collection, [CREATED, CONFIRMING, PAID]);
    expect(lastOf(collection).actualAmount).toBe('100.00');
  });
});

describe('expiry by the chain time', () => {
  /** Longer than the steps before the chain's time jumps over it, on any machine. */
  const LIFETIME_SECONDS = 300;

  it('expires unpaid and underpaid orders, but none paid in time and verified late', async () => {
    const expiresIn = (await bsc.secondsAhead()) + LIFETIME_SECONDS;
    const [unpaid, partly, justInTime] = await Promise.all(
      Array.from({ length: 3 }, () => order(bsc, { expiresIn })),
    );
    await bsc.pay({ to: partly!.address, amount: '40' });
    await untilStory(test.receiver, partly!, [CREATED, PENDING]);
    await bsc.mineByHand();
    await bsc.pay({ to: justInTime!.address, amount: '100' });
    await bsc.mine();
    await bsc.jump(LIFETIME_SECONDS + 1);
    await bsc.mine();
    await bsc.mineByTime();

    await untilStory(test.receiver, unpaid!, [CREATED, EXPIRED]);
    expect(lastOf(unpaid!)).toMatchObject({ actualAmount: null, transaction: null });
    await untilStory(test.receiver, partly!, [CREATED, PENDING, EXPIRED]);
    expect(lastOf(partly!)).toMatchObject({
      reason: 'Underpaid',
      actualAmount: '40.00',
      transaction: { amount: '40.00' },
    });
    await untilStory(test.receiver, justInTime!, [CREATED, CONFIRMING, PAID]);

    const late = await bsc.pay({ to: unpaid!.address, amount: '100' });
    await bsc.pay({ to: partly!.address, amount: '60' });
    await untilStory(test.receiver, unpaid!, [CREATED, EXPIRED, EXPIRED]);
    expect(lastOf(unpaid!)).toMatchObject({
      status: 'EXPIRED',
      reason: 'Paid after expiry',
      actualAmount: '100.00',
      transaction: { txid: late, status: 'SUCCESS' },
    });
    await untilStory(test.receiver, partly!, [CREATED, PENDING, EXPIRED, EXPIRED]);
    expect(lastOf(partly!)).toMatchObject({ reason: 'Paid after expiry', actualAmount: '100.00' });
    await untilUnmatched(unpaid!, 'LATE');
    expect((await transfersTo(partly!)).map(({ reason }) => reason)).toEqual(['UNDERPAID', 'LATE']);
    expect((await test.merchant.getOrderStatus(unpaid!.orderId)).data).toMatchObject({
      status: 'EXPIRED',
      unmatched: [{ reason: 'LATE' }],
    });
  });

  it('credits a payment that was in time before and after a reorganisation', async () => {
    await bsc.mineByHand();
    const collection = await order(bsc, { expiresIn: (await bsc.secondsAhead()) + LIFETIME_SECONDS });
    const txid = await bsc.pay({ to: collection.address, amount: '100' });
    await bsc.mine();
    await untilStory(test.receiver, collection, [CREATED, CONFIRMING]);
    const raw = await bsc.rawTransaction(txid);
    await bsc.reorg(1);
    await untilStory(test.receiver, collection, [CREATED, CONFIRMING, CREATED]);
    await bsc.jump(LIFETIME_SECONDS + 1);
    await bsc.mine(CONFIRMATIONS + 1);
    await untilStory(test.receiver, collection, [CREATED, CONFIRMING, CREATED, EXPIRED]);
    await bsc.reorg(1, [{ rawTransaction: raw, blockOffset: 0 }]);
    await bsc.mine(CONFIRMATIONS);
    await bsc.mineByTime();
    await untilLast(collection, PAID);
    expect(lastOf(collection)).toMatchObject({ actualAmount: '100.00', reason: null, transaction: { txid } });
  });
});

describe('reorganisations', () => {
  /** Below, at and above the confirmations. chaos.full.test.ts has random depths. */
  const DEPTHS = [1, CONFIRMATIONS, 10];
  /** Blocks between two tests, so that a reorganisation does not reach into the earlier one. */
  const APART = 12;

  beforeAll(async () => {
    await Promise.all([eth.mineByHand(), bsc.mineByHand()]);
  });
  afterAll(async () => {
    await Promise.all([eth.mineByTime(), bsc.mineByTime()]);
  });

  interface Story {
    readonly collection: OrderAnswer;
    readonly txid: string;
    readonly raw: string;
    readonly account: number;
  }

  /** Three orders, paid in one block by three customers, followed by `above` blocks. */
  async function threePaid(chain: ChainUnderTest, above: number): Promise<readonly [Story, Story, Story]> {
    await chain.mine(APART);
    const stories: Story[] = [];
    for (const account of [2, 3, 4]) {
      const collection = await order(chain);
      const txid = await chain.pay({ to: collection.address, amount: '100', account });
      stories.push({ collection, txid, account, raw: await chain.rawTransaction(txid) });
    }
    await chain.mine(1 + above);
    return stories as unknown as readonly [Story, Story, Story];
  }

  /** A payment with the same customer and nonce, so that only one of the two can be mined. */
  async function replacementOf(chain: ChainUnderTest, { raw, account, collection }: Story): Promise<string> {
    const amount = chain.baseUnits('USDT', '100.5');
    return signTransaction({
      rpcUrl: chain.rpcUrl,
      fromKey: devAccount(account).privateKey,
      to: chain.contractOf('USDT'),
      data: contractInterface('UsdcLike').encodeFunctionData('transfer', [collection.address, amount]),
      nonce: Transaction.from(raw).nonce,
    });
  }

  /** Drops the first payment, moves the second to another block, and replaces the third by another payment. */
  async function reorganise(chain: ChainUnderTest, depth: number, stories: readonly [Story, Story, Story]) {
    const [, moved, replaced] = stories;
    const replacement = await replacementOf(chain, replaced);
    await chain.reorg(depth, [
      { rawTransaction: moved.raw, blockOffset: depth % 2 === 0 ? 0 : depth - 1 },
      { rawTransaction: replacement, blockOffset: Math.floor(depth / 2) },
    ]);
    return { replacementTxid: Transaction.from(replacement).hash! };
  }

  async function beforeSuccess(chain: ChainUnderTest, depth: number): Promise<void> {
    const stories = await threePaid(chain, Math.min(depth - 1, 1));
    const [dropped, moved, replaced] = stories;
    for (const { collection } of stories) await untilStory(test.receiver, collection, [CREATED, CONFIRMING]);
    const { replacementTxid } = await reorganise(chain, depth, stories);

    await untilStory(test.receiver, dropped.collection, [CREATED, CONFIRMING, CREATED]);
    expect(lastOf(dropped.collection)).toMatchObject({
      reason: 'Reorganised',
      transaction: null,
      actualAmount: null,
    });
    expect((await test.merchant.pay(dropped.collection.orderId)).data).toMatchObject({
      receivedAmount: '0.00',
      txid: null,
    });
    const again = await chain.pay({ to: dropped.collection.address, amount: '100', account: 2 });
    await chain.mine(CONFIRMATIONS + 1);

    for (const [{ collection }, txid, amount] of [
      [dropped, again, '100.00'],
      [moved, moved.txid, '100.00'],
      [replaced, replacementTxid, '100.50'],
    ] as const) {
      await untilLast(collection, PAID);
      const { blockNum } = await chain.mined(txid);
      expect(lastOf(collection)).toMatchObject({
        actualAmount: amount,
        reason: null,
        transaction: { txid, blockNum, amount },
      });
      expect((await test.merchant.status(collection.orderId)).data?.transaction).toMatchObject({
        txid,
        blockNum,
      });
    }
    const [gone, came] = await transfersTo(replaced.collection);
    expect(gone).toMatchObject({ tx_hash: replaced.txid, state: 'ORPHANED', credited: false });
    expect(came).toMatchObject({ tx_hash: replacementTxid, state: 'VERIFIED', credited: true, booked: true });
    expect(await incidentsOf(stories)).toEqual([]);
  }

  async function afterSuccess(chain: ChainUnderTest, depth: number): Promise<void> {
    const stories = await threePaid(chain, Math.max(depth, CONFIRMATIONS) - 1);
    const [dropped, moved, replaced] = stories;
    for (const { collection } of stories) await untilLast(collection, PAID);
    const ends = stories.map(({ collection }) => test.receiver.story(collection.orderId));
    if (depth < CONFIRMATIONS) {
      await chain.reorg(depth);
      await chain.mine(CONFIRMATIONS);
      await untilRead(chain);
      for (const { collection, txid } of stories)
        expect(await transfersTo(collection)).toMatchObject([
          { tx_hash: txid, state: 'VERIFIED', credited: true, booked: true },
        ]);
      expect(await incidentsOf(stories)).toEqual([]);
      return;
    }
    const { replacementTxid } = await reorganise(chain, depth, stories);
    await chain.mine(CONFIRMATIONS + 1);
    await untilUnmatched(replaced.collection, 'AFTER_SUCCESS');
    const state = async () =>
      (await Promise.all(stories.map(({ collection }) => transfersTo(collection)))).flat();
    await waitUntil(
      'all transfers are settled',
      async () => {
        const transfers = await state();
        return transfers.every(
          (one) => one.state !== 'DETECTED' && one.booked === (one.state === 'VERIFIED'),
        );
      },
      WAIT_MS,
    );
    expect(await state()).toMatchObject([
      { tx_hash: dropped.txid, state: 'ORPHANED', booked: false, credited: true },
      { tx_hash: moved.txid, state: 'VERIFIED', booked: true, credited: true },
      { tx_hash: replaced.txid, state: 'ORPHANED', booked: false, credited: true },
      { tx_hash: replacementTxid, state: 'VERIFIED', booked: true, credited: false },
    ]);
    // SUCCESS is final: the merchant gets no further callback, and the operator handles the incident.
    expect(stories.map(({ collection }) => test.receiver.story(collection.orderId))).toEqual(ends);
    for (const { collection } of stories) {
      expect(await orderRow(collection)).toMatchObject({
        status: 'SUCCESS',
        actual_amount: chain.baseUnits('USDT', '100'),
      });
    }
    const incidents = await incidentsOf(stories);
    const orders = incidents.map(({ orderId }) => orderId);
    for (const { collection } of [dropped, replaced]) expect(orders).toContain(collection.orderId);
    for (const incident of incidents) {
      expect(incident).toMatchObject({
        kind: 'CREDITED_TRANSFER_ORPHANED',
        chain: chain.chain,
        symbol: 'USDT',
      });
      expect(incident).toMatchObject({ heldChain: chain.chain, heldSymbol: 'USDT', released: null });
    }
  }

  async function incidentsOf(stories: readonly Story[]) {
    const orderIds = stories.map(({ collection }) => collection.orderId);
    return test.database.kysely
      .selectFrom('incident as i')
      .innerJoin('orders as o', 'o.order_pk', 'i.order_pk')
      .leftJoin('asset_hold as h', 'h.incident_id', 'i.incident_id')
      .select([
        'i.kind',
        'i.chain',
        'i.symbol',
        'o.order_id as orderId',
        'h.chain as heldChain',
        'h.symbol as heldSymbol',
        'h.released_at as released',
      ])
      .where('o.order_id', 'in', orderIds)
      .execute();
  }

  /** Waits until the scanner has verified the block at the crediting depth. */
  async function untilRead(chain: ChainUnderTest): Promise<void> {
    const head = await chain.head();
    await waitUntil(
      'the chain is read',
      async () => {
        const cursor = await test.database.kysely
          .selectFrom('chain_cursor')
          .select('verified_height')
          .where('chain', '=', chain.chain as EvmDevnetChain)
          .executeTakeFirst();
        return cursor?.verified_height === head - CONFIRMATIONS + 1;
      },
      WAIT_MS,
    );
  }

  it.each(DEPTHS)(
    'of depth %d handle dropped, moved and replaced payments before and after SUCCESS',
    async (depth) => {
      const sides = await Promise.allSettled([beforeSuccess(eth, depth), afterSuccess(bsc, depth)]);
      for (const side of sides) if (side.status === 'rejected') throw side.reason;
    },
  );

  it('are detected when the head moves backwards, as behind a load balancer', async () => {
    await eth.mine(APART);
    const collection = await order(eth);
    const snapshot = await takeSnapshot(eth.rpcUrl);
    const txid = await eth.pay({ to: collection.address, amount: '100' });
    const raw = await eth.rawTransaction(txid);
    await eth.mine();
    await untilStory(test.receiver, collection, [CREATED, CONFIRMING]);
    await restoreSnapshot(eth.rpcUrl, snapshot);
    await eth.mine(CONFIRMATIONS + 1);
    await untilStory(test.receiver, collection, [CREATED, CONFIRMING, CREATED]);
    expect(lastOf(collection)).toMatchObject({ reason: 'Reorganised' });
    await callRpc(eth.rpcUrl, 'eth_sendRawTransaction', [raw]);
    await eth.mine(CONFIRMATIONS);
    await untilStory(test.receiver, collection, [CREATED, CONFIRMING, CREATED, CONFIRMING, PAID]);
    expect(lastOf(collection).transaction).toMatchObject({
      txid,
      blockNum: (await eth.mined(txid)).blockNum,
    });
  });
});

describePayouts(() => test);
describeTron(() => test);
/** Started before the tests of pages and checked after them, because a sweep needs two confirmed transactions. */
let swept: { readonly address: string } | undefined;

it('accepts a sweep run requested by an operator', async () => {
  swept = await test.database.kysely
    .selectFrom('deposit_balance as b')
    .innerJoin('orders as o', 'o.order_pk', 'b.order_pk')
    .select('b.address')
    .where('b.chain', '=', bsc.chain as Chain)
    .where('b.symbol', '=', 'USDT')
    .where('o.status', '=', 'SUCCESS')
    .orderBy('b.received', 'desc')
    .executeTakeFirstOrThrow();
  const asked = ['sweep', 'run', '--chain', bsc.chain, '--reason', 'the end of the day'];
  expect(await runOpentill(test.gateway, asked)).toMatchObject({ code: 0, errors: '' });
});

describeSdk(() => test);

describe.skipIf(!HAS_BROWSER)('pages', () => {
  let browser: BrowserUnderTest;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  describeCheckout(
    () => test,
    () => browser,
  );

  it('the demo shop sells a product that its test customer pays', async () => {
    const view = await browser.open(test.gateway.shopUrl);
    const { page } = view;
    await view.keepPicture('shop-1-window');
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await view.leavePage(async () => page.getByRole('link', { name: 'Buy Mug' }).click());
    await page.locator('select').selectOption('BSC_TEST/USDC');
    await view.keepPicture('shop-2-cart');
    await view.leavePage(async () => page.getByRole('button', { name: 'Check out' }).click());
    expect(await page.innerText('main')).toContain('12.90 USDC');
    const paymentUrl = await page.getByRole('link', { name: 'Open the payment page' }).getAttribute('href');
    const checkout = await browser.open(paymentUrl!);
    await checkout.page.waitForSelector('main[data-status=INIT]');
    expect(await checkout.page.innerText('main')).toContain('12.90 USDC');
    await view.leavePage(async () =>
      page.getByRole('button', { name: 'Demo: pay as a test customer' }).click(),
    );
    await view.keepPicture('shop-3-paid');
    await page.waitForSelector('[data-status=ORDER_SUCCESS]', { timeout: WAIT_MS });
    await view.keepPicture('shop-4-success');
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await checkout.page.waitForSelector('main[data-status=SUCCESS]', { timeout: WAIT_MS });
    await page.goto(`${test.gateway.shopUrl}/callbacks`);
    await page.locator('main summary').first().click();
    await view.keepPicture('shop-5-callbacks');
    expect(await page.innerText('main')).toContain('ORDER_SUCCESS');
    expect(await findAccessibilityProblems(page)).toEqual([]);
    expect([...view.complaints, ...checkout.complaints]).toEqual([]);
    await Promise.all([page.close(), checkout.page.close()]);
  });

  it('the demo shop pays out on a page of its own, and shows the devnet as a page', async () => {
    const view = await browser.open(`${test.gateway.shopUrl}/pay-out`);
    const { page } = view;
    await view.leavePage(async () => page.getByRole('button', { name: 'Send' }).click());
    await page.waitForSelector('[data-status=ORDER_SUCCESS]', { timeout: WAIT_MS });
    await view.keepPicture('shop-6-pay-out');
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await page.goto(`${test.gateway.shopUrl}/devnet`);
    await view.keepPicture('shop-7-devnet');
    expect(await page.locator('details[open]').count()).toBe(0);
    expect(await findAccessibilityProblems(page)).toEqual([]);
    expect(view.complaints).toEqual([]);
    await page.close();
  });
});

it('sweeps a deposit to cold storage with a callback', async () => {
  const { address } = swept!;
  const collects = () =>
    test.receiver.received.flatMap(({ notifyType, data }) => {
      const collect = data as unknown as NotifyCollect;
      const isIt = notifyType === 'COLLECT_SUCCESS' && collect.transaction?.from.toLowerCase() === address;
      return isIt ? [collect] : [];
    });
  await waitUntil('COLLECT_SUCCESS arrives', () => Promise.resolve(collects().length > 0), WAIT_MS);
  // The sweep may include later deposits to the address.
  const { amount } = await test.database.kysely
    .selectFrom('deposit_balance')
    .select('swept as amount')
    .where('address', '=', address)
    .where('symbol', '=', 'USDT')
    .executeTakeFirstOrThrow();
  const shown = collects()[0]!.collectAmount;
  const reported = collects().reduce(
    (sum, { collectAmount }) => sum + bsc.baseUnits('USDT', collectAmount),
    0n,
  );
  expect(reported).toBe(amount);
  expect(collects()[0]).toEqual({
    collectAmount: shown,
    fee: '0',
    feeRatio: '0',
    reason: null,
    transaction: expect.objectContaining({
      chain: bsc.chain,
      symbol: 'USDT',
      amount: shown,
      to: COLD_ADDRESS,
      status: 'SUCCESS',
    }),
  });
  expect(await bsc.balance('USDT', address)).toBe(0n);
  expect(await bsc.balance('USDT', COLD_ADDRESS)).toBeGreaterThanOrEqual(amount);
});

it('leaves the ledger equal to the chains, according to `opentill reconcile`', async () => {
  let last: CommandResult = { code: -1, out: '', errors: '' };
  const areEqual = async () => (last = await runOpentill(test.gateway, ['reconcile'])).code === 0;
  // On a timeout, the next assertion shows the differences.
  await waitUntil('ledger and chain are equal', areEqual, WAIT_MS).catch(() => undefined);
  const { code, out, errors } = last;
  expect({ code, errors, differences: out.match(/ DIFF .*/g) }).toEqual({
    code: 0,
    errors: '',
    differences: null,
  });
  expect(out.match(/ hot wallets .* equal/g)).toHaveLength(12); // two tokens and the coin, on four chains
});

it('leaves a balanced ledger equal to the chains, and callbacks delivered in order', async () => {
  expect(await test.findProblems()).toEqual([]);
});

describe('check-books detects', () => {
  class Undone extends Error {}

  const FINDERS = {
    ledger: findLedgerProblems,
    chains: async (db: Db) => findChainProblems(db, [eth, bsc, test.tron!]),
    payouts: async (db: Db) => findPayoutProblems(db, [eth, bsc, test.tron!], test.gateway.wallet),
    callbacks: async (db: Db) => findCallbackProblems(db, test.receiver.received),
  };

  async function problemsAfter(tampering: string, find: keyof typeof FINDERS): Promise<string[]> {
    let problems: string[] = [];
    const undone = test.database.kysely.transaction().execute(async (tx) => {
      // Disables triggers, which would reject the change.
      await sql`set local session_replication_role = replica`.execute(tx);
      await sql.raw(tampering).execute(tx);
      problems = await FINDERS[find](tx);
      throw new Undone();
    });
    await expect(undone).rejects.toThrow(Undone);
    return problems;
  }

  it.each([
    [
      'ledger',
      'a balance that differs from its postings',
      `update ledger_account set balance = balance + 1 where kind = 'MERCHANT'`,
      /its postings sum to/,
    ],
    [
      'ledger',
      'a posting without its counterpart',
      `delete from ledger_posting where amount < 0 and ledger_tx_id = (select max(ledger_tx_id) from ledger_transaction where kind = 'DEPOSIT')`,
      /does not sum to zero/,
    ],
    [
      'ledger',
      'a deposit that was never booked',
      `delete from transfer_settlement where transfer_id = (select min(transfer_id) from transfer where state = 'VERIFIED')`,
      /is VERIFIED, booked: f/,
    ],
    [
      'chains',
      'a transfer that was never seen',
      `delete from transfer_settlement s using transfer t where t.transfer_id = s.transfer_id and s.booked; delete from transfer; delete from ledger_posting; update ledger_account set balance = 0`,
      /on chain, 0 in the ledger/,
    ],
    [
      'ledger',
      'an order credited with more than was paid',
      `update orders set actual_amount = actual_amount + 1 where status = 'SUCCESS'`,
      /is SUCCESS with/,
    ],
    [
      'payouts',
      'a payout that landed twice',
      `insert into own_transaction (chain, tx_hash, family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount, raw, fee_terms, signed_at)
         select chain, tx_hash || '-', family, wallet, nonce, purpose, order_pk, contract_address, to_address, amount, raw, fee_terms, signed_at
         from own_transaction t join own_transaction_fate f using (chain, tx_hash, family) where f.state = 'VERIFIED' limit 1;
       insert into own_transaction_fate (chain, tx_hash, family, block_height, block_hash, block_time, state, succeeded, delivered, network_fee)
         select chain, tx_hash || '-', family, block_height, block_hash, block_time, state, succeeded, delivered, network_fee
         from own_transaction_fate where (chain, tx_hash || '-') in (select chain, tx_hash from own_transaction)`,
      /landed 2 times/,
    ],
    [
      'payouts',
      'a payout that delivered another amount',
      `update own_transaction_fate set delivered = delivered - 1 where delivered > 0`,
      /is SUCCESS with 25025\d*, and delivered 25024/,
    ],
    [
      'payouts',
      'an unused nonce',
      `update wallet_nonce n set nonce = nonce + 1 where nonce = (select max(nonce) from wallet_nonce m where m.chain = n.chain)`,
      /nonces of 0x\w+ on \w+: \d+ of/,
    ],
    [
      'payouts',
      'a hot wallet that holds another amount',
      `update ledger_account set balance = balance + 1 where kind = 'HOT_AVAILABLE'; update ledger_account set balance = balance - 1 where kind = 'OWNER'`,
      /hot wallet, \w+ USDT: \d+ on chain/,
    ],
    [
      'callbacks',
      'a callback that differs from its notification',
      `update notification set data = replace(data, 'SUCCESS', 'EXPIRED') where notify_type = 'ORDER_SUCCESS'`,
      /equals no notification/,
    ],
    [
      'callbacks',
      'callbacks in the wrong order',
      `update notification set sequence = 100 - sequence`,
      /arrived after a newer one/,
    ],
    [
      'callbacks',
      'a callback that was not delivered',
      `update delivery set state = 'PENDING' where event_id = (select min(event_id::text)::uuid from delivery)`,
      /is PENDING/,
    ],
    [
      'callbacks',
      'an order that became SUCCESS without a callback',
      `update orders set status = 'SUCCESS', actual_amount = null where status = 'EXPIRED'`,
      /is SUCCESS without a callback/,
    ],
  ] as const)('%s: %s', async (find, _what, tampering, words) => {
    expect(await problemsAfter(tampering, find)).toContainEqual(expect.stringMatching(words));
  });
});

// Last, because the attackers leave forged data.
describeAttackers(() => test);
describeSecrets(() => test);

it('Ctrl-C leaves no process and no open port', async () => {
  await test.database.close();
  await started.endsByCtrlC();
});
