import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import { encodePayment } from '@opentill/chain-evm/sender/encode-payment';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { payNative, tokenBalance } from '@opentill/devnets/evm/start-evm-devnet';
import { sendTransaction } from '@opentill/devnets/evm/transactions';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { baseUnits } from '@opentill/domain/money';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { ONE_ETH, USDT } from './signer-world.ts';
import { createCallbackWorld, type CallbackWorld } from './callback-world.ts';

let world: CallbackWorld;
beforeAll(async () => {
  world = await createCallbackWorld();
});
afterEach(() => world.rest());
afterAll(() => world.close());

const isHalted = async (): Promise<boolean> => {
  const { rows } =
    await sql`select from wallet_halt where kind = 'FOREIGN_NONCE' and released_at is null`.execute(
      world.admin,
    );
  return rows.length === 1;
};

test('sends no callback without coin for fees, and succeeds after a top-up', async () => {
  await callRpc(world.rpcUrl, 'anvil_setBalance', [world.wallet, '0x1']);
  await world.drive();
  const order = await world.payout();
  await world.awaitObstacle(order, 'NO_GAS');
  await world.mine(5);
  await world.scannerAtHead();
  expect(await world.callbacksOf(order)).toEqual([]);
  const { rpcUrl, wallet: to } = world;
  await payNative({ rpcUrl, fromKey: devAccount(1).privateKey, to, amountWei: 10n * ONE_ETH });
  await world.succeeds(order);
  expect((await world.callbackTypes(order))[0]).toBe('ORDER_PENDING');
});

test('expires without tokens and reports the reason to the merchant', async () => {
  const held = await tokenBalance(world.rpcUrl, USDT, world.wallet);
  await callRpc(world.rpcUrl, 'anvil_dealERC20', [world.wallet, USDT, '0x1']);
  await world.drive();
  const order = await world.payout({ expires_at: new Date(Date.now() + 3_000) });
  await world.awaitObstacle(order, 'NO_TOKENS');
  expect(await world.ends(order, 'ORDER_FAILED')).toEqual({
    type: 'ORDER_FAILED',
    status: 'FAILED',
    reason: 'Payout expired',
    txid: null,
  });
  expect(await world.callbackTypes(order)).toEqual(['ORDER_FAILED']);
  await callRpc(world.rpcUrl, 'anvil_dealERC20', [world.wallet, USDT, `0x${held.toString(16)}`]);
  const next = await world.payout();
  await world.succeeds(next);
  expect(await world.transactionsOf(order)).toEqual([]);
  expect(await world.received(order)).toBe(0n);
  expect(await world.callbackTypes(order)).toEqual(['ORDER_FAILED']);
});

test('succeeds once with the replacement transaction that landed', async () => {
  await world.drive({ timing: { bumpAfterMs: 100 } });
  const order = await world.payout();
  await world.isSent(order);
  for (let block = 0; block < 3; block += 1) {
    await callRpc(world.rpcUrl, 'anvil_setNextBlockBaseFeePerGas', ['0x1bf08eb000']);
    await world.mine();
    await world.scannerAtHead();
  }
  await waitUntil('replaced', async () => (await world.transactionsOf(order)).length > 1);
  await callRpc(world.rpcUrl, 'anvil_setNextBlockBaseFeePerGas', ['0x3b9aca00']);
  const txid = await world.succeeds(order);
  const landed = (await world.transactionsOf(order)).filter(({ fate }) => fate === 'VERIFIED');
  expect(landed.map(({ tx_hash: txHash }) => txHash)).toEqual([txid]);
});

async function losesItsNonce(order: OrderRow): Promise<void> {
  await waitUntil('halted', async () => {
    await world.mine();
    return isHalted();
  });
  await world.awaitObstacle(order, 'NEEDS_DECISION');
  await world.mine(5);
  await world.scannerAtHead();
  expect(await world.callbackTypes(order)).toEqual(['ORDER_PENDING']);
}

test('succeeds once after a foreign transaction used its nonce and an operator decided', async () => {
  const { order, nonce, connect } = await world.signedInVain();
  const { rpcUrl, walletKey: fromKey, wallet: to } = world;
  await sendTransaction({ rpcUrl, fromKey, to, valueWei: 1n, nonce });
  connect();
  await losesItsNonce(order);
  await world.releaseHalts();
  await world.mine(5);
  await world.scannerAtHead();
  expect(await world.callbackTypes(order)).toEqual(['ORDER_PENDING']);
  await world.decide(order, { decision: 'PAY_AGAIN', nonce });
  const txid = await world.succeeds(order);
  expect((await world.transactionsOf(order)).at(-1)?.tx_hash).toBe(txid);
  expect(await world.decisionsOf(order)).toEqual([{ outcome: 'DONE', detail: null }]);
});

test('succeeds with the forgotten transaction that used its nonce and paid it', async () => {
  const { order, nonce, connect } = await world.signedInVain();
  const { rpcUrl, walletKey: fromKey } = world;
  const { to, data } = encodePayment({
    from: world.wallet,
    contract: order.contract_address as TokenContract,
    to: order.address as Address,
    amountBaseUnits: baseUnits(order.amount),
  });
  // Differs from the stored bytes by its gas limit.
  const txHash = await sendTransaction({ rpcUrl, fromKey, to, data, nonce, gasLimit: 123_456n });
  connect();
  await losesItsNonce(order);
  await world.decide(order, { decision: 'PAID_BY', txHash });
  expect(await world.succeeds(order)).toBe(txHash);
  expect(await world.decisionsOf(order)).toEqual([{ outcome: 'DONE', detail: null }]);
  await world.releaseHalts();
  const next = await world.payout();
  await world.succeeds(next);
});

test('delivers the amount exactly once to every order with a success callback', async () => {
  const stranger = { address: world.wallet, contract_address: null, amount: 1n, order_id: 'stranger' };
  await world.agrees([{ ...world.paid[0]!, ...stranger }]);
});
