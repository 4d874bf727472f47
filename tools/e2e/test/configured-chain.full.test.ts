import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getAddress, hexlify, randomBytes } from 'ethers';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { DEV_TOKEN_ADDRESSES, payNative, payToken } from '@opentill/devnets/evm/start-evm-devnet';
import { waitForReceipt } from '@opentill/devnets/evm/transactions';
import { formatAmount } from '@opentill/domain/money';
import { LOCAL_NETWORKS_FILE } from '@opentill/local/checkout';
import { findFreePort } from '@opentill/test-servers/free-port';
import { startOpStackNode, type OpStackNode, type OpStackPrices } from '@opentill/testkit/op-stack-node';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { ChainUnderTest } from '../src/chain-under-test.ts';
import { runOpentill } from '../src/run-opentill.ts';
import { startGatewayUnderTest, type GatewayUnderTest } from '../src/start-gateway-under-test.ts';
import { CONFIRMING, CREATED, PAID, PENDING, untilStory } from '../src/stories.ts';
import { WAIT_MS } from '../src/time-limits.ts';

// A rollup of the OP Stack that is no preset: only the networks file has it. Its node deducts a fee for data and one for
// the operator.

const CHAIN = 'ACME_L2';
const COLD = '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720';
const PRICES: OpStackPrices = {
  baseFee: 30_000_000_000n,
  baseFeeScalar: 500_000n,
  blobBaseFee: 1_000_000_000n,
  blobBaseFeeScalar: 1_000_000n,
  operatorFeeConstant: 1_000_000_000_000n,
  operatorFeeScalar: 5_000_000n,
};

let directory: string;
let node: OpStackNode;
let test: GatewayUnderTest;
let chain: ChainUnderTest;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'opentill-rollup-'));
  node = await startOpStackNode({
    dir: join(directory, 'node'),
    port: await findFreePort(),
    chainId: 424_242,
    blockTimeSeconds: 1,
    slotsInAnEpoch: 2,
    prices: PRICES,
  });
  const networksFile = join(directory, 'networks.json');
  const { networks } = JSON.parse(readFileSync(LOCAL_NETWORKS_FILE, 'utf8')) as { networks: NetworkConfig[] };
  const [template] = networks;
  const write = (entries: readonly object[]) =>
    writeFileSync(networksFile, JSON.stringify({ networks: entries }));
  write([{ ...template, enabled: false }]);
  await addChain(networksFile);
  const [unused, added] = (
    JSON.parse(readFileSync(networksFile, 'utf8')) as { networks: readonly NetworkConfig[] }
  ).networks;
  expect(added).toMatchObject({ chain: CHAIN, chainId: 424_242, kind: 'test', dataFee: 'op-stack' });
  write([unused!, { ...added, payouts: template!.payouts, pollIntervalMs: 250, restIntervalMs: 250 }]);
  test = await startGatewayUnderTest({ ownNodes: { networksFile, environment: {} } });
  chain = (test.chains as Readonly<Record<string, ChainUnderTest>>)[CHAIN]!;
  await sealPolicyWithSweeps();
  await fundHotWallet();
});
afterAll(async () => {
  await test?.stop();
  await node?.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function addChain(networksFile: string): Promise<void> {
  const options = {
    chain: CHAIN,
    'chain-id': '424242',
    kind: 'test',
    name: 'Acme',
    'rpc-url': node.rpcUrl,
    token: `USDT:6:${DEV_TOKEN_ADDRESSES.USDT}`,
    native: 'ETH',
    'block-time-ms': '1000',
    'data-fee': 'op-stack',
  };
  const given = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  given.push('--token', `USDC:6:${DEV_TOKEN_ADDRESSES.USDC}`);
  const added = await runOpentill({ operatorEnvironment: {} }, ['chain', 'add', networksFile, ...given]);
  expect(added).toMatchObject({ code: 0, errors: '', out: expect.stringContaining(`${CHAIN} was added`) });
}

async function opentill(...args: readonly string[]): Promise<string> {
  const { code, out, errors } = await runOpentill(test.gateway, args);
  if (code !== 0) throw new Error(`opentill ${args.join(' ')} ended with ${code}: ${errors}${out}`);
  return out;
}

/** By the way of an operator: networks of own nodes start with a policy that does not sweep. */
async function sealPolicyWithSweeps(): Promise<void> {
  const { gateway } = test;
  const file = join(gateway.directory.keys, 'policy.json');
  const policy = JSON.parse(readFileSync(file, 'utf8')) as { chains: Record<string, object> };
  const sweep = { nativePrice: '600', maxTopUp: '0.01', maxNativePerDay: '1', maxCostShare: '0.1' };
  policy.chains[CHAIN] = { ...policy.chains[CHAIN], coldAddress: COLD, sweep };
  writeFileSync(file, JSON.stringify(policy));
  const { keystoreFile, passphraseFile } = gateway.wallet;
  const keys = ['--keystore', keystoreFile, '--passphrase-file', passphraseFile];
  await opentill('policy', 'seal', file, '--out', gateway.policy.policyFile, ...keys);
  await gateway.stopService('payout-signer');
  await gateway.startService('payout-signer');
}

async function fundHotWallet(): Promise<void> {
  const { rpcUrl } = node;
  const payer = { rpcUrl, fromKey: devAccount(0).privateKey, to: test.gateway.wallet.evmHotWallet };
  const tokens = await payToken({
    ...payer,
    token: chain.contractOf('USDT'),
    amountBaseUnits: 1_000_000_000n,
  });
  const coin = await payNative({ ...payer, amountWei: 10n ** 18n });
  for (const [txid, symbol, amount] of [
    [tokens, 'USDT', '1000'],
    [coin, 'ETH', '1'],
  ] as const) {
    await waitForReceipt(rpcUrl, txid);
    const top = ['--chain', CHAIN, '--symbol', symbol, '--amount', amount, '--txid', txid];
    await waitUntil(
      `${symbol} is booked`,
      async () => (await runOpentill(test.gateway, ['wallet', 'book-top-up', ...top])).code === 0,
      WAIT_MS,
    );
  }
}

interface Attempt {
  readonly gas: bigint;
  readonly price: bigint;
  readonly dataFee: bigint;
}

async function signedFor(orderId: string): Promise<Attempt> {
  const { rows } = await sql<Attempt>`
    select (fee_terms->>'gasLimit')::numeric as gas, (fee_terms->>'maxFeePerGas')::numeric as price,
      (fee_terms->>'dataFee')::numeric as "dataFee"
    from own_transaction join orders using (order_pk) where order_id = ${orderId}`.execute(
    test.database.kysely,
  );
  expect(rows).toHaveLength(1);
  return rows[0]!;
}

it('pays an order, with the chain of the networks file in its callbacks', async () => {
  const created = await test.merchant.createCollection({
    orderId: test.newOrderId(),
    amount: '50',
    symbol: 'USDT',
    chain: CHAIN,
  });
  const { orderId, address } = created.data!;
  const txid = await chain.pay({ to: address, amount: '50' });
  await untilStory(test.receiver, { orderId }, [CREATED, CONFIRMING, PAID]);
  const { blockNum } = await chain.mined(txid);
  expect(test.receiver.of(orderId).at(-1)!.data).toMatchObject({
    actualAmount: '50.00',
    transaction: { chain: CHAIN, symbol: 'USDT', txid, to: address, blockNum },
  });
});

it('pays out, and books the data fee that the node deducts', async () => {
  const hotWallet = test.gateway.wallet.evmHotWallet;
  const coinBefore = await chain.coins(hotWallet);
  const receiveAddress = getAddress(hexlify(randomBytes(20)));
  const fields = { amount: '12.5', symbol: 'USDT', chain: CHAIN, receiveAddress };
  const { data } = await test.merchant.createPayout({ orderId: test.newOrderId(), ...fields });
  await untilStory(test.receiver, data!, [CREATED, PENDING, CONFIRMING, PAID]);
  expect(await chain.balance('USDT', receiveAddress)).toBe(chain.baseUnits('USDT', '12.5'));

  const paid = coinBefore - (await chain.coins(hotWallet));
  const { transaction } = test.receiver.of(data!.orderId).at(-1)!.data;
  const { fee: feeOfGas } = await chain.mined(transaction!.txid);
  const besidesGas = paid - feeOfGas;
  expect(besidesGas).toBeGreaterThan(PRICES.operatorFeeConstant);
  expect(transaction!.txGas).toBe(formatAmount(paid, 18, 0));
  const { gas, price, dataFee } = await signedFor(data!.orderId);
  expect(dataFee).toBeGreaterThan(besidesGas);
  expect(dataFee).toBeLessThan(4n * besidesGas);
  expect(paid).toBeLessThan(gas * price + dataFee);
});

it('sweeps when the data fee falls below the cost share of the policy', async () => {
  await node.setPrices({ ...PRICES, baseFee: PRICES.baseFee * 100_000n });
  // The operator's run does not wait for the minimum age of deposits.
  const run = () => opentill('sweep', 'run', '--chain', CHAIN, '--reason', 'the test');
  await run();
  const isTooDear = async () => / COST_SHARE/.test(await opentill('sweep', 'plan', '--chain', CHAIN));
  await waitUntil('the sweep costs too much', isTooDear, WAIT_MS);
  await node.setPrices(PRICES);
  await run();
  const swept = async () => (await chain.balance('USDT', COLD)) === chain.baseUnits('USDT', '50');
  await waitUntil('the deposit is at the cold address', swept, WAIT_MS);
  const callback = () => test.receiver.received.find(({ notifyType }) => notifyType === 'COLLECT_SUCCESS');
  await waitUntil('the shop receives the callback', () => callback() !== undefined, WAIT_MS);
  expect(callback()!.data).toMatchObject({ collectAmount: '50.00', transaction: { chain: CHAIN } });
});

it('leaves books that equal the chain to the last wei', async () => {
  expect(await test.findProblems()).toEqual([]);
  let last = '';
  const areEqual = async () => {
    const { code, out } = await runOpentill(test.gateway, ['reconcile', '--addresses', '--chain', CHAIN]);
    last = out;
    return code === 0;
  };
  await waitUntil('ledger and chain are equal', areEqual, WAIT_MS).catch(() => undefined);
  expect(last.match(/ DIFF .*/g)).toBeNull();
  expect(last).toMatch(/ received 50.00 USDT, swept 50.00 USDT, unswept 0.00 USDT, unexplained 0$/m);
});
