import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { FatesRead, OwnTransaction } from '@opentill/chain/own-transaction';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import { startAnvil, type Anvil } from '@opentill/devnets/evm/anvil';
import type { ContractName } from '@opentill/devnets/evm/contract-artifacts';
import { devAccount } from '@opentill/devnets/evm/accounts';
import {
  callContract,
  deployContract,
  deployDevTokens,
  headHeight,
  payNative,
  payToken,
} from '@opentill/devnets/evm/start-evm-devnet';
import { waitForReceipt } from '@opentill/devnets/evm/transactions';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { baseUnits } from '@opentill/domain/money';
import type { ByzantineRpcOptions, ByzantineRpcProxy } from '@opentill/testkit/byzantine-rpc-proxy';
import { createByzantineRpcProxy } from '@opentill/testkit/byzantine-rpc-proxy';
import { anEvmAddress } from '@opentill/testkit/scenario';
import type { RpcExchange } from '../src/client.ts';
import type { EvmNetwork, EvmReaderDeps } from '../src/reader.ts';
import { createPatientReader } from './patient-reader.ts';

const WALLET = devAccount(1);
const OTHER = devAccount(2);
const OWNER = devAccount(0);
const walletAddress = WALLET.address.toLowerCase() as Address;

let dir: string;
let anvil: Anvil;
let at: Record<'USDT' | 'USDC' | 'ODD', string>;
let network: EvmNetwork;
let proxies: ByzantineRpcProxy[] = [];

/** Every transaction is mined in its own block. */
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'chain-evm-'));
  anvil = await startAnvil({ dir, port: await findFreePort(), chainId: 97 });
  const { rpcUrl } = anvil;
  const tokens = await deployDevTokens({ rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
  const odd = { contract: 'FakeToken' as ContractName, constructorArguments: [6, 'Odd', 'ODD'] };
  at = { ...tokens, ODD: await deployContract({ rpcUrl, fromKey: OWNER.privateKey, ...odd }) };
  const token = { decimals: 6, displayDecimals: 2, minAmount: null, maxAmount: null };
  network = {
    chain: 'BSC_TEST',
    chainId: 97,
    rpcUrls: [rpcUrl],
    bloom: true,
    blockTimeMs: 450,
    maxBlockRange: 500,
    tokens: [
      { symbol: 'USDT', contract: at.USDT, ...token },
      { symbol: 'USDC', contract: at.USDC, ...token },
    ],
  };
});
afterEach(async () => {
  await Promise.all(proxies.map((proxy) => proxy.close()));
  proxies = [];
});
afterAll(async () => {
  await anvil.stop('kill');
  await rm(dir, { recursive: true });
});

type Intent = Partial<Pick<OwnTransaction, 'from' | 'to' | 'amountBaseUnits' | 'contract'>>;

function ownOf(txHash: string, intent: Intent): OwnTransaction {
  return {
    txHash: txHash as TxHash,
    from: walletAddress,
    contract: null,
    to: anEvmAddress() as Address,
    amountBaseUnits: baseUnits(0n),
    ...intent,
  };
}

const contractOf = (symbol: keyof typeof at): TokenContract => at[symbol].toLowerCase() as TokenContract;

async function pay(symbol: 'USDT' | 'USDC' | 'ODD', amount: bigint): Promise<OwnTransaction> {
  const to = anEvmAddress() as Address;
  const { rpcUrl } = anvil;
  const fromKey = WALLET.privateKey;
  const txHash = await payToken({ rpcUrl, token: at[symbol], fromKey, to, amountBaseUnits: amount });
  await waitForReceipt(rpcUrl, txHash);
  return ownOf(txHash, { contract: contractOf(symbol), to, amountBaseUnits: baseUnits(amount) });
}

async function truthOf(own: OwnTransaction): Promise<{
  readonly blockHeight: number;
  readonly blockHash: string;
  readonly feeBaseUnits: bigint;
}> {
  const receipt = await callRpc<Record<string, string>>(anvil.rpcUrl, 'eth_getTransactionReceipt', [
    own.txHash,
  ]);
  return {
    blockHeight: Number(receipt['blockNumber']),
    blockHash: receipt['blockHash']!,
    feeBaseUnits: BigInt(receipt['gasUsed']!) * BigInt(receipt['effectiveGasPrice']!),
  };
}

describe('readFates from one node', () => {
  let reader: ChainReader;
  beforeAll(() => {
    reader = createPatientReader(network);
  });

  async function expectFate(own: OwnTransaction, succeeded: boolean, delivered: bigint): Promise<void> {
    const truth = await truthOf(own);
    const fate = { txHash: own.txHash, succeeded, deliveredBaseUnits: delivered, ...truth };
    expect(truth.feeBaseUnits).toBeGreaterThan(0n);
    for (const byOneSource of [true, false])
      expect(await reader.readFates([own], { byOneSource })).toEqual({ fates: [fate], disputed: [] });
  }

  it('reports a token payment', async () => {
    await expectFate(await pay('USDC', 5_000n), true, 5_000n);
    await expectFate(await pay('USDT', 6_000n), true, 6_000n);
  });

  it('reports a reverted payment with its fee', async () => {
    await expectFate(await pay('USDC', 10n ** 30n), false, 0n);
  });

  it('reports zero delivered by a token that succeeds without a log', async () => {
    await expectFate(await pay('ODD', 5_000n), true, 0n);
  });

  it('reports the amount that arrived of a fee-on-transfer token', async () => {
    const setParams = async (basisPoints: number): Promise<void> => {
      const { rpcUrl } = anvil;
      const hash = await callContract({
        rpcUrl,
        fromKey: OWNER.privateKey,
        contract: 'TetherLike',
        address: at.USDT,
        method: 'setParams',
        methodArguments: [basisPoints, 49],
      });
      expect(await waitForReceipt(rpcUrl, hash)).toMatchObject({ status: '0x1' });
    };
    await setParams(10);
    await expectFate(await pay('USDT', 1_000_000n), true, 999_000n);
    await setParams(0);
  });

  it('counts only logs of the intended token from the wallet to the receiver', async () => {
    const receiver = anEvmAddress() as Address;
    const emit = async (from: string, to: string, value: bigint): Promise<string> => {
      const { rpcUrl } = anvil;
      const txHash = await callContract({
        rpcUrl,
        fromKey: WALLET.privateKey,
        contract: 'FakeToken',
        address: at.ODD,
        method: 'emitTransfer',
        methodArguments: [from, to, value],
      });
      await waitForReceipt(rpcUrl, txHash);
      return txHash;
    };
    const meant = { contract: contractOf('ODD'), to: receiver, amountBaseUnits: baseUnits(9n) };
    await expectFate(ownOf(await emit(walletAddress, receiver, 8n), meant), true, 8n);
    await expectFate(ownOf(await emit(OTHER.address, receiver, 9n), meant), true, 0n);
    await expectFate(ownOf(await emit(walletAddress, OTHER.address, 9n), meant), true, 0n);
    const ofAnother = { ...meant, contract: contractOf('USDC') };
    await expectFate(ownOf(await emit(walletAddress, receiver, 9n), ofAnother), true, 0n);
  });

  it('reports native payments, also one that the receiver rejected', async () => {
    const { rpcUrl } = anvil;
    const fromKey = WALLET.privateKey;
    const send = async (to: string, amountWei: bigint): Promise<OwnTransaction> => {
      const txHash = await payNative({ rpcUrl, fromKey, to, amountWei });
      await waitForReceipt(rpcUrl, txHash);
      return ownOf(txHash, { to: to as Address, amountBaseUnits: baseUnits(amountWei) });
    };
    await expectFate(await send(anEvmAddress(), 123n), true, 123n);
    await expectFate(await send(at.USDC, 123n), false, 0n); // a contract that accepts no coin
    await expectFate(await send(walletAddress, 0n), true, 0n); // only uses a nonce
  });

  it('omits a transaction that is in no block from both lists', async () => {
    const [a, b] = [await pay('USDC', 1n), await pay('USDC', 2n)];
    const unknown = ownOf(`0x${'ab'.repeat(32)}`, {});
    const { fates, disputed } = await reader.readFates([a, unknown, b]);
    expect(fates.map(({ txHash }) => txHash)).toEqual([a.txHash, b.txHash]);
    expect(disputed).toEqual([]);
    expect(await reader.readFates([])).toEqual({ fates: [], disputed: [] });
  });

  it('accepts only a node that has the block at atHeight', async () => {
    const own = await pay('USDC', 1n);
    const head = await headHeight(anvil.rpcUrl);
    expect((await reader.readFates([own], { atHeight: head })).fates).toHaveLength(1);
    for (const byOneSource of [true, false])
      await expect(reader.readFates([own], { atHeight: head + 1, byOneSource })).rejects.toMatchObject({
        code: 'BLOCK_NOT_FOUND',
      });
  });
});

type Faulty = Partial<Omit<ByzantineRpcOptions, 'upstreamUrl'>>;

async function readerOf(
  faulty: readonly Faulty[],
  overrides: Partial<EvmNetwork> = {},
  deps: EvmReaderDeps = {},
): Promise<ChainReader> {
  const opened = await Promise.all(
    faulty.map((wrong, place) =>
      createByzantineRpcProxy({ upstreamUrl: anvil.rpcUrl, seed: place + 1, ...wrong }),
    ),
  );
  proxies.push(...opened);
  const rpcUrls = opened.map(({ url }) => url);
  return createPatientReader({ ...network, rpcUrls, ...overrides }, deps);
}

function wrongReceipt(txHash: string, change: (receipt: Record<string, unknown> | null) => unknown): Faulty {
  return {
    override: async ({ method, params }, honest) => {
      if (method !== 'eth_getTransactionReceipt' || params[0] !== txHash) return undefined;
      return { result: change((await honest({ method, params })) as Record<string, unknown> | null) };
    },
  };
}

describe('readFates from two sources', () => {
  let paid: OwnTransaction;
  let others: readonly OwnTransaction[];
  let truth: FatesRead;
  beforeAll(async () => {
    paid = await pay('USDC', 77n);
    others = [await pay('USDC', 1n), await pay('USDT', 2n)];
    truth = await createPatientReader(network).readFates([paid, ...others]);
    expect(truth.fates).toHaveLength(3);
  });

  it('returns outcomes on which both agree', async () => {
    const reader = await readerOf([{}, {}]);
    expect(await reader.readFates([paid, ...others])).toEqual(truth);
  });

  const withoutLogs = { logs: [], logsBloom: `0x${'0'.repeat(512)}` };
  const cases: readonly (readonly [string, (receipt: Record<string, unknown> | null) => unknown])[] = [
    ['does not know it', () => null],
    ['reports its failure', (receipt) => ({ ...receipt, ...withoutLogs, status: '0x0' })],
    ['omits its log', (receipt) => ({ ...receipt, ...withoutLogs })],
    ['reports another fee', (receipt) => ({ ...receipt, gasUsed: '0x1' })],
    [
      'puts it into another block',
      (receipt) => {
        const moved = { blockHash: `0x${'ab'.repeat(32)}` };
        const logs = (receipt!['logs'] as readonly object[]).map((log) => ({ ...log, ...moved }));
        return { ...receipt, ...moved, logs };
      },
    ],
    [
      'answers with another transaction’s receipt',
      (receipt) => ({ ...receipt, transactionHash: `0x${'cd'.repeat(32)}` }),
    ],
    ['answers with a malformed receipt', () => ({ status: 'fine' })],
    [
      'invents a log that is not in its bloom',
      (receipt) => ({ ...receipt, logsBloom: withoutLogs.logsBloom }),
    ],
  ];
  it.each(cases)('disputes only the transaction about which one source %s', async (_, change) => {
    const wrong = wrongReceipt(paid.txHash, change);
    for (const faulty of [
      [wrong, {}],
      [{}, wrong],
    ]) {
      const reader = await readerOf(faulty);
      const read = await reader.readFates([paid, ...others]);
      expect(read.disputed).toEqual([paid.txHash]);
      expect(read.fates).toEqual(truth.fates.filter(({ txHash }) => txHash !== paid.txHash));
    }
  });

  it('disputes an invented receipt, but shows it with byOneSource', async () => {
    const unmined = ownOf(`0x${'ef'.repeat(32)}`, { contract: paid.contract, to: paid.to });
    const receipt = await callRpc<Record<string, unknown>>(anvil.rpcUrl, 'eth_getTransactionReceipt', [
      paid.txHash,
    ]);
    const logs = (receipt['logs'] as readonly object[]).map((log) => ({
      ...log,
      transactionHash: unmined.txHash,
    }));
    const reader = await readerOf([
      wrongReceipt(unmined.txHash, () => ({ ...receipt, transactionHash: unmined.txHash, logs })),
      {},
    ]);
    expect(await reader.readFates([unmined])).toEqual({ fates: [], disputed: [unmined.txHash] });
    const shown = await reader.readFates([unmined], { byOneSource: true });
    expect(shown.fates).toMatchObject([{ txHash: unmined.txHash, deliveredBaseUnits: 77n }]);
  });

  it('asks the other source after a malformed receipt with byOneSource', async () => {
    const nonsense = wrongReceipt(paid.txHash, () => ({ status: 'fine' }));
    const reader = await readerOf([nonsense, {}]);
    expect(await reader.readFates([paid, ...others], { byOneSource: true })).toEqual(truth);
    const single = await readerOf([nonsense]);
    for (const byOneSource of [true, false]) {
      const read = await single.readFates([paid, ...others], { byOneSource });
      expect(read.fates).toHaveLength(2);
      expect(read.disputed).toEqual([paid.txHash]);
    }
  });

  it('waits for the second source until a single one is accepted', async () => {
    let nowMs = 0;
    const single: string[] = [];
    const reader = await readerOf(
      [{}, { faults: { unavailable: 1 } }],
      { aloneAfterSeconds: 60 },
      { nowMs: () => nowMs, onSingleSource: ({ label }) => single.push(label) },
    );
    await expect(reader.readFates([paid])).rejects.toMatchObject({ code: 'RPC_UNAVAILABLE' });
    nowMs = 30_000;
    await expect(reader.readFates([paid])).rejects.toMatchObject({ retryable: true });
    expect(single).toEqual([]);
    nowMs = 61_000;
    await reader.head();
    expect((await reader.readFates([paid])).fates).toHaveLength(1);
    expect(single).toHaveLength(1);
  });

  it('ignores a lagging source, also for the absence of a receipt', async () => {
    const head = await headHeight(anvil.rpcUrl);
    const behind: Faulty = { faults: { laggingNode: 1 }, lagBlocks: 5 };
    const reader = await readerOf([behind, {}]);
    await expect(reader.readFates([paid], { atHeight: head })).rejects.toMatchObject({
      code: 'BLOCK_NOT_FOUND',
    });
    expect((await reader.readFates([paid], { atHeight: head, byOneSource: true })).fates).toHaveLength(1);
    expect((await reader.readFates([paid], { atHeight: head - 5 })).fates).toHaveLength(1);
  });

  it('costs one call per source for any number of transactions', async () => {
    const exchanges: RpcExchange[] = [];
    const reader = await readerOf([{}, {}], {}, { onExchange: (exchange) => exchanges.push(exchange) });
    const many = Array.from({ length: 60 }, (_, place) =>
      place % 2 === 0 ? paid : ownOf(`0x${place.toString(16).padStart(64, '0')}`, {}),
    );
    await reader.readFates(many);
    const receipts = exchanges.filter(({ methods }) => methods.includes('eth_getTransactionReceipt'));
    expect(receipts.map(({ methods }) => methods.length)).toEqual([61, 61]);
  });
});
