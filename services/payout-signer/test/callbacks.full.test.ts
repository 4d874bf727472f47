import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import { encodePayment } from '@opentill/chain-evm/sender/encode-payment';
import { verifiedDepths } from '@opentill/confirmation-tracker/agreed-height';
import { loadDisplayForms } from '@opentill/confirmation-tracker/display-forms';
import { nativeSymbols } from '@opentill/confirmation-tracker/native-symbols';
import { createObserve } from '@opentill/confirmation-tracker/observe';
import { DEFAULT_TIMING, startSweeps, type Sweeps } from '@opentill/confirmation-tracker/start-sweeps';
import type { Database } from '@opentill/db/database';
import { devAccount } from '@opentill/devnet/evm-accounts';
import { payNative, tokenBalance } from '@opentill/devnet/evm-devnet';
import { sendTransaction } from '@opentill/devnet/evm-transactions';
import { callRpc } from '@opentill/devnet/json-rpc';
import { baseUnits } from '@opentill/domain/money';
import { systemClock } from '@opentill/runtime/clock';
import { newId } from '@opentill/runtime/ids';
import { createLogger } from '@opentill/runtime/logger';
import { createMetrics } from '@opentill/runtime/metrics';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { checkChain } from './check-chain.ts';
import {
  createSignerWorld,
  ONE_ETH,
  USDT,
  type DriverOptions,
  type RunningDriver,
  type SignerWorld,
} from './signer-world.ts';

/*
 * Signer, scanner and tracker together on a chain: what a merchant is told of payouts that don't go the straight way.
 */

let world: SignerWorld;
let trackerDatabase: Database;
let sweeps: Sweeps;
let driver: RunningDriver | undefined;
const paid: OrderRow[] = [];
beforeAll(async () => {
  world = await createSignerWorld();
  trackerDatabase = world.database.open('tracker');
  const logger = createLogger({ service: 'confirmation-tracker', level: 'silent' });
  const metrics = createMetrics('confirmation-tracker');
  const deps = {
    db: trackerDatabase.kysely,
    newId,
    clock: systemClock,
    displayOf: await loadDisplayForms([world.network]),
    verifiedDepths: verifiedDepths([world.network]),
    nativeSymbolOf: nativeSymbols([world.network]),
    observe: createObserve({ logger, metrics, clock: systemClock }),
    wakeRelay: () => undefined,
  };
  // Without a broker: what events would tell is found by looking.
  const timing = {
    ...DEFAULT_TIMING,
    payoutSweepMs: 30,
    dueSweepMs: 100,
    transferSweepMs: 100,
    sweepGraceMs: 0,
  };
  sweeps = startSweeps(deps, timing);
});
afterEach(async () => {
  await driver?.stop();
  await release();
});
afterAll(async () => {
  await sweeps.stop();
  await trackerDatabase.close();
  await world.close();
});

const start = async (options: DriverOptions = {}): Promise<void> => {
  driver = await world.start(options);
};
const release = () =>
  sql`update wallet_halt set released_at = now(), released_by = 'test', released_reason = 'it was us'
    where released_at is null`.execute(world.admin);
const isHalted = async (): Promise<boolean> => {
  const { rows } =
    await sql`select from wallet_halt where kind = 'FOREIGN_NONCE' and released_at is null`.execute(
      world.admin,
    );
  return rows.length === 1;
};
const hindered = (order: OrderRow, obstacle: string) =>
  waitUntil(obstacle, async () => (await world.payoutOf(order)).obstacle === obstacle);
const isSent = (order: OrderRow) => waitUntil('sent', async () => (await world.payoutOf(order)).sent);

interface Told {
  readonly type: string;
  readonly status: string;
  readonly reason: string | null;
  readonly txid: string | null;
}

/** What the merchant was told, in its order. */
async function told(order: OrderRow): Promise<readonly Told[]> {
  const { rows } = await sql<Told>`
    select notify_type as type, data::json->>'status' as status, data::json->>'reason' as reason, data::json->'transaction'->>'txid' as txid
    from notification where subject_id = ${order.order_pk} order by sequence`.execute(world.admin);
  return rows;
}
const typesTold = async (order: OrderRow) => (await told(order)).map(({ type }) => type);

/** Mines a block at a time until the merchant was told of the order's end. */
async function ends(order: OrderRow, type: 'ORDER_SUCCESS' | 'ORDER_FAILED'): Promise<Told> {
  await waitUntil(
    type,
    async () => {
      if ((await typesTold(order)).includes(type)) return true;
      await world.mine();
      return false;
    },
    50_000,
  );
  const ended = await told(order);
  expect(ended.filter((one) => one.type === 'ORDER_SUCCESS' || one.type === 'ORDER_FAILED')).toHaveLength(1);
  return ended.at(-1)!;
}

async function succeeds(order: OrderRow): Promise<string> {
  const last = await ends(order, 'ORDER_SUCCESS');
  expect(last).toMatchObject({ type: 'ORDER_SUCCESS', status: 'SUCCESS', reason: null });
  expect(await world.received(order)).toBe(order.amount);
  paid.push(order);
  return last.txid ?? '';
}

test('no coin for fees: nothing is said, it waits, and succeeds after a top-up', async () => {
  await callRpc(world.rpcUrl, 'anvil_setBalance', [world.wallet, '0x1']);
  await start();
  const order = await world.payout();
  await hindered(order, 'NO_GAS');
  await world.mine(5);
  await world.scannerAtHead();
  expect(await told(order)).toEqual([]);
  const { rpcUrl, wallet: to } = world;
  await payNative({ rpcUrl, fromKey: devAccount(1).privateKey, to, amountWei: 10n * ONE_ETH });
  await succeeds(order);
  expect((await typesTold(order))[0]).toBe('ORDER_PENDING');
});

test('no tokens: it expires, and the merchant is told that it failed, and why', async () => {
  const held = await tokenBalance(world.rpcUrl, USDT, world.wallet);
  await callRpc(world.rpcUrl, 'anvil_dealERC20', [world.wallet, USDT, '0x1']);
  await start();
  const order = await world.payout({ expires_at: new Date(Date.now() + 3_000) });
  await hindered(order, 'NO_TOKENS');
  expect(await ends(order, 'ORDER_FAILED')).toEqual({
    type: 'ORDER_FAILED',
    status: 'FAILED',
    reason: 'Payout expired',
    txid: null,
  });
  expect(await typesTold(order)).toEqual(['ORDER_FAILED']);
  // Also when the tokens come after all.
  await callRpc(world.rpcUrl, 'anvil_dealERC20', [world.wallet, USDT, `0x${held.toString(16)}`]);
  const next = await world.payout();
  await succeeds(next);
  expect(await world.transactionsOf(order)).toEqual([]);
  expect(await world.received(order)).toBe(0n);
  expect(await typesTold(order)).toEqual(['ORDER_FAILED']);
});

test('replaced by a dearer transaction: one success, by the one that landed', async () => {
  await start({ timing: { bumpAfterMs: 100 } });
  const order = await world.payout();
  await isSent(order);
  for (let block = 0; block < 3; block += 1) {
    await callRpc(world.rpcUrl, 'anvil_setNextBlockBaseFeePerGas', ['0x1bf08eb000']);
    await world.mine();
    await world.scannerAtHead();
  }
  await waitUntil('replaced', async () => (await world.transactionsOf(order)).length > 1);
  await callRpc(world.rpcUrl, 'anvil_setNextBlockBaseFeePerGas', ['0x3b9aca00']);
  const txid = await succeeds(order);
  const landed = (await world.transactionsOf(order)).filter(({ fate }) => fate === 'VERIFIED');
  expect(landed.map(({ tx_hash: txHash }) => txHash)).toEqual([txid]);
});

/** A payout that is signed, and whose bytes reach no node. */
async function signedInVain(): Promise<{ order: OrderRow; nonce: number; connect: () => void }> {
  let isCutOff = true;
  await start({
    sender: (sender) => ({
      ...sender,
      broadcast: (signed, options) =>
        isCutOff ? Promise.resolve(signed.map(() => 'UNKNOWN' as const)) : sender.broadcast(signed, options),
    }),
  });
  const order = await world.payout();
  await isSent(order);
  const [{ nonce } = { nonce: -1 }] = await world.noncesOf(order);
  return { order, nonce, connect: () => void (isCutOff = false) };
}

/** Halted, and the nonce known to be gone; nobody was told of an end. */
async function losesItsNonce(order: OrderRow): Promise<void> {
  await waitUntil('halted', async () => {
    await world.mine();
    return isHalted();
  });
  await hindered(order, 'NEEDS_DECISION');
  await world.mine(5);
  await world.scannerAtHead();
  expect(await typesTold(order)).toEqual(['ORDER_PENDING']);
}

test('its nonce taken by something that paid nobody: halted, released, paid again by decision: one success', async () => {
  const { order, nonce, connect } = await signedInVain();
  const { rpcUrl, walletKey: fromKey, wallet: to } = world;
  await sendTransaction({ rpcUrl, fromKey, to, valueWei: 1n, nonce });
  connect();
  await losesItsNonce(order);
  await release();
  await world.mine(5);
  await world.scannerAtHead();
  expect(await typesTold(order)).toEqual(['ORDER_PENDING']);
  await world.decide(order, { decision: 'PAY_AGAIN', nonce });
  const txid = await succeeds(order);
  expect((await world.transactionsOf(order)).at(-1)?.tx_hash).toBe(txid);
  expect(await world.decisionsOf(order)).toEqual([{ outcome: 'DONE', detail: null }]);
});

test('its nonce taken by a forgotten transaction that paid it: a success by that one, through scanner and tracker', async () => {
  const { order, nonce, connect } = await signedInVain();
  const { rpcUrl, walletKey: fromKey } = world;
  const { to, data } = encodePayment({
    from: world.wallet,
    contract: order.contract_address as TokenContract,
    to: order.address as Address,
    amountBaseUnits: baseUnits(order.amount),
  });
  // Other bytes than those that are stored: another gas limit.
  const txHash = await sendTransaction({ rpcUrl, fromKey, to, data, nonce, gasLimit: 123_456n });
  connect();
  await losesItsNonce(order);
  await world.decide(order, { decision: 'PAID_BY', txHash });
  expect(await succeeds(order)).toBe(txHash);
  expect(await world.decisionsOf(order)).toEqual([{ outcome: 'DONE', detail: null }]);
  await release();
  const next = await world.payout();
  await succeeds(next);
});

test('and the chain says the same: everybody who was told of a success has the amount, once', async () => {
  // The stranger's one wei went to the wallet itself.
  const self = { ...paid[0]!, address: world.wallet, amount: 1n, order_id: 'stranger' };
  expect(await checkChain(world, [...paid, self])).toEqual({ payouts: paid.length + 1, wrong: [] });
  const { rows } =
    await sql`select from ledger_account group by chain, symbol having sum(balance) <> 0`.execute(
      world.admin,
    );
  expect(rows).toEqual([]);
});
