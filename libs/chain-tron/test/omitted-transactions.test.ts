import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TxHash } from '@opentill/chain/transfer';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import {
  createByzantineTronProxy,
  oddly,
  type ByzantineTronProxy,
} from '@opentill/testkit/byzantine-tron-proxy';
import { hexOf } from '../src/address-codec.ts';
import { createTronReader } from '../src/reader.ts';
import { findInBlocks } from '../src/sender/find-in-blocks.ts';
import { createTronWalletHistoryReader } from '../src/sender/read-wallet-history.ts';
import { createTronSources } from '../src/tron-sources.ts';
import { createMemoryStore, createWitnessKeys } from '../src/witness-keys.ts';
import { networkOf, walletsOf } from './tron-harness.ts';

// Receipts and transactions match, so only the header's root reveals an omitted transaction.

const LAG = 3;
const HOLDER = 'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH' as Address;
const inconsistent = expect.objectContaining({ code: 'INCONSISTENT_ANSWER' });
let devnet: TronDevnet;
let byzantine: ByzantineTronProxy;
/** In order: a token transfer, a TRX transfer, and a failed one. */
let sent: readonly TxHash[];
let height: number;
let headId: BlockHash;
let hidden: string | undefined;
let isOdd = false;
/** Its decoded fields differ from its signed bytes. */
let altered: { readonly txHash: string; readonly value: object } | undefined;
interface BlockAnswer {
  readonly transactions?: readonly {
    readonly txID: string;
    readonly raw_data: { readonly contract: readonly [{ readonly parameter: { readonly value: object } }] };
  }[];
}

beforeAll(async () => {
  devnet = await startTronDevnet({ blockTimeMs: 0, solidLagBlocks: LAG });
  const { head, headId: id } = devnet.control.summary();
  [height, headId] = [head + 1, id as BlockHash];
  const wallets = walletsOf(devnet);
  const [owner] = wallets;
  const transactions = await Promise.all([
    owner!.transactionBuilder.triggerSmartContract(
      devnet.tokens.USDT,
      'transfer(address,uint256)',
      { feeLimit: 100_000_000 },
      [
        { type: 'address', value: HOLDER },
        { type: 'uint256', value: 5 },
      ],
    ),
    wallets[1]!.transactionBuilder.sendTrx(HOLDER, 7),
    owner!.transactionBuilder.triggerSmartContract(
      devnet.tokens.USDT,
      'transfer(address,uint256)',
      { feeLimit: 100_000 },
      [
        { type: 'address', value: HOLDER },
        { type: 'uint256', value: 6 },
      ],
    ),
  ]);
  const hashes: TxHash[] = [];
  for (const [place, made] of transactions.entries()) {
    const transaction = 'transaction' in made ? made.transaction : made;
    const wallet = wallets[place === 1 ? 1 : 0]!;
    const signed = await wallet.trx.sign(transaction as Parameters<typeof wallet.trx.sign>[0]);
    expect(await wallet.trx.sendRawTransaction(signed as never)).toMatchObject({ result: true });
    hashes.push((signed as unknown as { txID: TxHash }).txID);
  }
  sent = hashes;
  await devnet.control.mine(1 + LAG + 4);
  byzantine = await createByzantineTronProxy({
    upstreamUrl: devnet.url,
    seed: 1,
    override: async ({ method }, honest) => {
      if (altered !== undefined && method === 'getblockbynum') {
        const block = (await honest()) as BlockAnswer;
        for (const one of block.transactions ?? [])
          if (one.txID === altered.txHash)
            Object.assign(one.raw_data.contract[0].parameter.value, altered.value);
        return block;
      }
      if (hidden === undefined) return undefined;
      const isOther = (one: { txID?: string; id?: string }): boolean => (one.txID ?? one.id) !== hidden;
      if (method === 'gettransactioninfobyblocknum') return ((await honest()) as object[]).filter(isOther);
      if (method !== 'getblockbynum') return undefined;
      const block = (await honest()) as { transactions?: object[] };
      const transactions = block.transactions?.filter(isOther).map((one) => (isOdd ? oddly(one) : one));
      return transactions === undefined ? block : { ...block, transactions };
    },
  });
});
afterEach(() => {
  hidden = undefined;
  isOdd = false;
  altered = undefined;
});
afterAll(async () => {
  await byzantine.close();
  await devnet.close();
});

const networkWith = (rpcUrls: readonly string[], aloneAfterSeconds = 1) =>
  networkOf(devnet, [devnet.tokens.USDT], { rpcUrls, aloneAfterSeconds });
const keys = createWitnessKeys({
  store: createMemoryStore(),
  epochMs: Date.now,
  onNewKey: () => undefined,
});
const afterBlock = () => ({ height: height - 1, hash: headId });

test('verifies no block from a single source that omits any of its transactions', async () => {
  const reader = createTronReader(networkWith([byzantine.url]), { requestTimeoutMs: 20_000 });
  const { transfers, transactions } = await reader.readVerified(height - 1, height, []);
  expect([transfers.length, transactions]).toEqual([1, 3]);
  for (const one of sent) {
    hidden = one;
    for (isOdd of [false, true])
      await expect(reader.readVerified(height - 1, height, [])).rejects.toEqual(inconsistent);
  }
});

test('verifies no block from the last of two sources if it omits a transaction', async () => {
  let now = 0;
  const network = networkWith([byzantine.url, 'http://127.0.0.1:1']);
  const reader = createTronReader(network, { nowMs: () => now, requestTimeoutMs: 20_000 });
  await reader.head();
  const read = () => reader.readVerified(height, height, []);
  await expect(read()).rejects.toMatchObject({ retryable: true });
  now += 60_000;
  expect((await read()).transfers).toHaveLength(1);
  hidden = sent[0];
  for (isOdd of [false, true]) await expect(read()).rejects.toEqual(inconsistent);
});

test('verifies a block although one of two sources returns an unknown result', async () => {
  hidden = '';
  isOdd = true;
  for (const urls of [
    [byzantine.url, devnet.url],
    [devnet.url, byzantine.url],
  ])
    expect((await createTronReader(networkWith(urls)).readVerified(height, height, [])).transactions).toBe(3);
});

test('findInBlocks rejects a node that hides the transaction', async () => {
  const untilMs = devnet.control.summary().headTimeMs - (LAG + 2) * 3_000;
  const find = () =>
    findInBlocks(
      { sources: createTronSources(networkWith([byzantine.url]), {}), keys, onSingleSource: () => undefined },
      sent,
      { after: afterBlock(), untilMs },
      {},
    );
  expect((await find()).found).toEqual(new Set(sent));
  hidden = sent[2];
  await expect(find()).rejects.toEqual(inconsistent);
});

test('rejects a wallet history if two nodes hide the same transaction', async () => {
  const wallet = devnet.accounts[1]!.address as Address;
  for (const urls of [[byzantine.url], [byzantine.url, byzantine.url.replace('127.0.0.1', 'localhost')]]) {
    const history = createTronWalletHistoryReader(networkWith(urls));
    const read = () =>
      history.read(() => Promise.resolve(new Set([wallet])), { after: afterBlock(), to: height + 1 });
    hidden = undefined;
    expect((await read()).sent.map(({ txHash }) => txHash)).toEqual([sent[1]]);
    hidden = sent[1];
    await expect(read()).rejects.toEqual(inconsistent);
  }
});

test('verifies no decoded owner, receiver or amount that differs from the signed bytes', async () => {
  const reader = createTronReader(networkWith([byzantine.url]), { requestTimeoutMs: 20_000 });
  const other = `41${'3'.repeat(40)}`;
  for (const [place, value] of [
    [0, { owner_address: other }],
    [1, { owner_address: other }],
    [1, { to_address: other }],
    [1, { amount: 7_000_000 }],
    [2, { owner_address: other }],
  ] as const) {
    altered = { txHash: sent[place]!, value };
    await expect(reader.readVerified(height, height, [])).rejects.toEqual(inconsistent);
  }
});

test('rejects a wallet history if only one of two sources names another owner', async () => {
  const wallet = devnet.accounts[1]!.address as Address;
  const stranger = devnet.accounts[2]!.address as Address;
  altered = { txHash: sent[1]!, value: { owner_address: hexOf(stranger) } };
  for (const urls of [
    [byzantine.url, devnet.url],
    [devnet.url, byzantine.url],
  ]) {
    const history = createTronWalletHistoryReader(networkWith(urls));
    const range = { after: afterBlock(), to: height + 1 };
    await expect(history.read(() => Promise.resolve(new Set([wallet, stranger])), range)).rejects.toEqual(
      inconsistent,
    );
  }
});
