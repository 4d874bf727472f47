import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { SignerBackend } from '@opentill/chain/signer-backend';
import type { TokenContract } from '@opentill/chain/transfer';
import type {
  FeeTerms,
  PaymentIntent,
  Prepared,
  SignedTransaction,
  WalletSender,
} from '@opentill/chain/wallet-sender';
import type { Anvil } from '@opentill/devnets/evm/anvil';
import { startAnvil } from '@opentill/devnets/evm/anvil';
import { devAccount } from '@opentill/devnets/evm/accounts';
import {
  callContract,
  DEV_TOKEN_ADDRESSES,
  deployDevTokens,
  mine,
  reorg,
  setBlockTime,
  tokenBalance,
} from '@opentill/devnets/evm/start-evm-devnet';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { baseUnits } from '@opentill/domain/money';
import type { ByzantineRpcOptions, ByzantineRpcProxy } from '@opentill/testkit/byzantine-rpc-proxy';
import { createByzantineRpcProxy } from '@opentill/testkit/byzantine-rpc-proxy';
import { SigningKey, getBytes, hexlify, randomBytes } from 'ethers';
import { evmAddressCodec } from '../src/address.ts';
import type { SendAnswer } from '../src/sender/broadcast.ts';
import type { EvmSenderNetwork } from '../src/sender/create-sender.ts';
import { createEvmSender } from '../src/sender/create-sender.ts';
import { PATIENT_MS } from './patient-reader.ts';

const CHAIN_ID = 11155111;
const GWEI = 10n ** 9n;
const PAYOUTS = {
  minPriorityFeePerGas: '1',
  maxPriorityFeePerGas: `${5n * GWEI}`,
  maxFeePerGas: `${200n * GWEI}`,
};
const USDT = DEV_TOKEN_ADDRESSES.USDT.toLowerCase() as TokenContract;
const USDC = DEV_TOKEN_ADDRESSES.USDC.toLowerCase() as TokenContract;
const OWNER = devAccount(0);
const WALLETS = [1, 2, 3, 4].map((index) => devAccount(index));
const POOR = { privateKey: `0x${'77'.repeat(32)}`, address: addressOf(`0x${'77'.repeat(32)}`) };
const [FIRST, SECOND, THIRD, FOURTH] = WALLETS.map(({ address }) => address.toLowerCase()) as [
  Address,
  Address,
  Address,
  Address,
];

function addressOf(key: string): Address {
  return evmAddressCodec.fromPublicKey(getBytes(new SigningKey(key).publicKey));
}

const backend: SignerBackend = {
  addresses: [...WALLETS, POOR].map(({ address }) => address.toLowerCase() as Address),
  sign: async (wallet, digest) => {
    const key = [...WALLETS, POOR].find(({ address }) => address.toLowerCase() === wallet)?.privateKey ?? '';
    const { r, s, yParity } = new SigningKey(key).sign(digest);
    return getBytes(`${r}${s.slice(2)}0${yParity}`);
  },
};

let dir: string;
let anvil: Anvil;
let sender: WalletSender;
const answers: SendAnswer[] = [];
const proxies: ByzantineRpcProxy[] = [];
const rpc = <T = unknown>(method: string, ...params: unknown[]): Promise<T> =>
  callRpc<T>(anvil.rpcUrl, method, params);

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'sender-'));
  anvil = await startAnvil({ dir, port: await findFreePort(), chainId: CHAIN_ID });
  await deployDevTokens({ rpcUrl: anvil.rpcUrl, usdtDecimals: 6, usdcDecimals: 18 });
  await setBlockTime(anvil.rpcUrl, 0);
  sender = senderOn([anvil.rpcUrl]);
});
afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.close();
  answers.length = 0;
});
afterAll(async () => {
  await anvil.stop('kill');
  await rm(dir, { recursive: true });
});

function senderOn(rpcUrls: readonly string[], changes: Partial<EvmSenderNetwork> = {}): WalletSender {
  const token = (symbol: string, contract: string, decimals: number): EvmSenderNetwork['tokens'][number] => ({
    symbol,
    contract,
    decimals,
    displayDecimals: 2,
    minAmount: null,
    maxAmount: null,
  });
  return createEvmSender(
    {
      chain: 'ETH_SEPOLIA',
      chainId: CHAIN_ID,
      rpcUrls,
      blockTimeMs: 1_000,
      maxBlockRange: 100,
      tokens: [token('USDT', USDT, 6), token('USDC', USDC, 18)],
      payouts: PAYOUTS,
      ...changes,
    },
    { backend, requestTimeoutMs: PATIENT_MS, onSendAnswer: (answer) => answers.push(answer) },
  );
}

async function proxyWith(
  options: Omit<ByzantineRpcOptions, 'upstreamUrl' | 'seed'>,
): Promise<ByzantineRpcProxy> {
  const proxy = await createByzantineRpcProxy({ upstreamUrl: anvil.rpcUrl, seed: 5, ...options });
  proxies.push(proxy);
  return proxy;
}

const newAddress = (): Address => hexlify(randomBytes(20)) as Address;
const paying = (
  amount: bigint,
  contract: TokenContract | null = USDT,
  from = FIRST,
  to = newAddress(),
): PaymentIntent => ({ from, contract, to, amountBaseUnits: baseUnits(amount) });

async function gasOf(intent: PaymentIntent): Promise<bigint> {
  const [prepared] = await sender.prepare([intent]);
  if (prepared?.kind !== 'READY') throw new Error(JSON.stringify(prepared));
  return prepared.gasLimit;
}

async function termsOf(intent: PaymentIntent): Promise<FeeTerms> {
  return { ...(await sender.currentPrices()), gasLimit: await gasOf(intent) };
}

async function signed(intent: PaymentIntent, ahead = 0): Promise<SignedTransaction> {
  const nonce = (await sender.latestCount(intent.from)) + ahead;
  return sender.sign(intent, nonce, await termsOf(intent));
}

const mineBlock = (): Promise<void> => mine({ rpcUrl: anvil.rpcUrl, blocks: 1 });
const succeeded = async ({ txHash }: SignedTransaction): Promise<boolean> =>
  (await rpc<{ status: string }>('eth_getTransactionReceipt', txHash)).status === '0x1';
const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'done',
    (error: { code?: string }) => error.code ?? error,
  );

describe('createEvmSender', () => {
  test('checks the network and its tokens', async () => {
    await sender.checkNetwork();
    const [token] = senderTokens();
    const wrong = senderOn([anvil.rpcUrl], { tokens: [{ ...token, decimals: 8 }] });
    expect(await codeOf(wrong.checkNetwork())).toBe('TOKEN_MISMATCH');
    for (const tokens of [senderTokens(), []])
      expect(await codeOf(senderOn([anvil.rpcUrl], { chainId: 1, tokens }).checkNetwork())).toBe(
        'WRONG_CHAIN',
      );
  });

  test('pays tokens of 6 and 18 decimals, and coin to accounts and contracts', async () => {
    const accepting = newAddress();
    await rpc('anvil_setCode', accepting, '0x00');
    const intents = [
      paying(1_234_567n),
      paying(3n * 10n ** 18n + 1n, USDC),
      paying(5n, null),
      paying(7n, null, FIRST, accepting),
    ];
    const [prices, prepared, count] = await Promise.all([
      sender.currentPrices(),
      sender.prepare(intents),
      sender.latestCount(FIRST),
    ]);
    const transactions = await Promise.all(
      intents.map((intent, place) => {
        const ready = prepared[place];
        if (ready?.kind !== 'READY') throw new Error(JSON.stringify(ready));
        return sender.sign(intent, count + place, { ...prices, gasLimit: ready.gasLimit });
      }),
    );
    expect(await sender.broadcast(transactions)).toEqual(Array(4).fill('ACCEPTED'));
    await mineBlock();
    expect(await Promise.all(transactions.map(succeeded))).toEqual([true, true, true, true]);
    for (const { contract, to, amountBaseUnits } of intents)
      expect(
        contract === null
          ? BigInt(await rpc<string>('eth_getBalance', to, 'latest'))
          : await tokenBalance(anvil.rpcUrl, contract, to),
      ).toBe(amountBaseUnits);
    expect(await sender.latestCount(FIRST)).toBe(count + 4);
  });

  test('prepares 64 payments in two requests', async () => {
    const proxy = await proxyWith({});
    let requests = 0;
    const watched = createEvmSender(
      { ...networkOf([proxy.url]) },
      {
        backend,
        requestTimeoutMs: PATIENT_MS,
        onExchange: ({ methods }) => (requests += methods.includes('eth_chainId') ? 0 : 1),
      },
    );
    const prepared = await watched.prepare(
      Array.from({ length: 64 }, (_, place) => paying(BigInt(place) + 1n)),
    );
    expect(prepared.map(({ kind }) => kind)).toEqual(Array(64).fill('READY'));
    expect(requests).toBeLessThanOrEqual(3);
    expect(proxy.calls['eth_estimateGas']).toBe(64);
    await expect(watched.prepare(Array(65).fill(paying(1n)) as PaymentIntent[])).rejects.toThrow(RangeError);
    expect(await watched.prepare([])).toEqual([]);
  });

  test('adds a quarter to the node’s gas estimate', async () => {
    const intent = paying(1n, null);
    const call = { from: FIRST, to: intent.to, value: '0x1' };
    const estimated = BigInt(await rpc<string>('eth_estimateGas', call));
    expect(await gasOf(intent)).toBe((estimated * 5n + 3n) / 4n);
  });

  test('reads balances at a single block', async () => {
    const { block, amounts } = await sender.balances(SECOND, [USDT, null, USDC, null]);
    const head = await rpc<{ hash: string; number: string }>('eth_getBlockByNumber', 'latest', false);
    expect([block.hash, block.height]).toEqual([head.hash, Number(head.number)]);
    expect([...amounts.keys()]).toEqual([USDT, null, USDC]);
    expect(amounts.get(USDT)).toBe(await tokenBalance(anvil.rpcUrl, USDT, SECOND));
    expect(amounts.get(null)).toBe(BigInt(await rpc<string>('eth_getBalance', SECOND, 'latest')));
  });
});

function senderTokens(): EvmSenderNetwork['tokens'] & { 0: EvmSenderNetwork['tokens'][number] } {
  return networkOf([anvil.rpcUrl]).tokens as never;
}

function networkOf(rpcUrls: readonly string[]): EvmSenderNetwork {
  const limits = { displayDecimals: 2, minAmount: null, maxAmount: null };
  return {
    chain: 'ETH_SEPOLIA',
    chainId: CHAIN_ID,
    rpcUrls,
    blockTimeMs: 1_000,
    maxBlockRange: 100,
    tokens: [
      { symbol: 'USDT', contract: USDT, decimals: 6, ...limits },
      { symbol: 'USDC', contract: USDC, decimals: 18, ...limits },
    ],
    payouts: PAYOUTS,
  };
}

describe('balances during a reorganisation', () => {
  test('throws when the chain changes while balances are read', async () => {
    const proxy = await proxyWith({
      override: async (call, honest) =>
        call.method === 'eth_getBlockByNumber' && call.params[0] !== 'latest'
          ? { result: { ...((await honest(call)) as object), hash: `0x${'7'.repeat(64)}` } }
          : undefined,
    });
    expect(await codeOf(senderOn([proxy.url]).balances(FIRST, [null]))).toBe('INCONSISTENT_ANSWER');
  });
});

describe('obstacles of prepare', () => {
  const owner = async (
    contract: 'TetherLike' | 'UsdcLike',
    method: string,
    ...methodArguments: unknown[]
  ): Promise<void> => {
    const address = contract === 'TetherLike' ? USDT : USDC;
    await callContract({
      rpcUrl: anvil.rpcUrl,
      fromKey: OWNER.privateKey,
      contract,
      address,
      method,
      methodArguments,
    });
    await mineBlock();
  };
  const failing = (detail: RegExp): Prepared =>
    ({
      kind: 'OBSTACLE',
      obstacle: 'WOULD_FAIL',
      detail: expect.stringMatching(detail),
    }) as unknown as Prepared;

  test('reports amounts above the balance, without affecting other payments', async () => {
    const much = 10n ** 30n;
    const prepared = await sender.prepare([
      paying(much),
      paying(1n),
      paying(much, USDC),
      paying(much, null),
      paying(1n, null),
    ]);
    expect(prepared).toEqual([
      failing(/panic 0x11/),
      expect.objectContaining({ kind: 'READY' }),
      failing(/./),
      failing(/nsufficient funds|OutOfFund/),
      expect.objectContaining({ kind: 'READY' }),
    ]);
  });

  test('reports a paused token, and blacklisted senders and receivers', async () => {
    const blocked = newAddress();
    await owner('TetherLike', 'pause');
    expect(await sender.prepare([paying(1n)])).toEqual([failing(/^reverted: paused$/)]);
    await owner('TetherLike', 'unpause');
    await owner('TetherLike', 'addBlackList', SECOND);
    expect(await sender.prepare([paying(1n, USDT, SECOND), paying(1n)])).toEqual([
      failing(/black listed/),
      expect.objectContaining({ kind: 'READY' }),
    ]);
    await owner('TetherLike', 'removeBlackList', SECOND);
    await owner('UsdcLike', 'blacklist', blocked);
    expect(await sender.prepare([paying(1n, USDC, FIRST, blocked)])).toEqual([failing(/black/i)]);
  });

  test('reports tokens that return false or nonsense, and contracts that reject coin', async () => {
    const [says, nonsense, loops] = [newAddress(), newAddress(), newAddress()];
    // PUSH1 32 PUSH1 0 RETURN; the same with 2 in the word; JUMPDEST PUSH1 0 JUMP.
    await rpc('anvil_setCode', says, '0x60206000f3');
    await rpc('anvil_setCode', nonsense, '0x600260005260206000f3');
    await rpc('anvil_setCode', loops, '0x5b600056');
    const prepared = await sender.prepare([
      paying(1n, says as string as TokenContract),
      paying(1n, nonsense as string as TokenContract),
      paying(1n, null, FIRST, USDT as string as Address),
      paying(1n, null, FIRST, loops),
    ]);
    expect(prepared).toEqual([
      failing(/false/),
      failing(/0x0+2 instead/),
      failing(/revert/),
      failing(/gas/i),
    ]);
  });

  test('throws a node fault; reports UNCLEAR for a single payment among others', async () => {
    const odd = paying(4_711n);
    const broken = (call: { method: string; params: readonly unknown[] }): boolean =>
      JSON.stringify(call.params).includes(odd.to.slice(2));
    const proxy = await proxyWith({
      override: async (call) =>
        broken(call) ? { error: { code: -32000, message: 'missing trie node 5aae' } } : undefined,
    });
    const watched = createEvmSender(networkOf([proxy.url]), { backend, requestTimeoutMs: PATIENT_MS });
    expect(await watched.prepare([odd, paying(1n)])).toEqual([
      { kind: 'OBSTACLE', obstacle: 'UNCLEAR', detail: 'missing trie node 5aae' },
      expect.objectContaining({ kind: 'READY' }),
    ]);
    expect(await codeOf(watched.prepare([odd]))).toBe('RPC_REFUSED');
    const two = createEvmSender(networkOf([proxy.url, anvil.rpcUrl]), {
      backend,
      requestTimeoutMs: PATIENT_MS,
    });
    expect(await two.prepare([odd, paying(1n)])).toEqual([
      expect.objectContaining({ kind: 'READY' }),
      expect.objectContaining({ kind: 'READY' }),
    ]);
    proxy.setFaults({ unavailable: 1 });
    expect(await codeOf(watched.prepare([paying(1n)]))).toBe('RPC_UNAVAILABLE');
  });

  test('ignores a false failure of one source', async () => {
    const proxy = await proxyWith({
      override: async ({ method }) =>
        method === 'eth_call' ? { error: { code: 3, message: 'execution reverted: paused' } } : undefined,
    });
    const two = createEvmSender(networkOf([proxy.url, anvil.rpcUrl]), {
      backend,
      requestTimeoutMs: PATIENT_MS,
    });
    expect(await two.prepare([paying(1n)])).toEqual([expect.objectContaining({ kind: 'READY' })]);
  });

  test('reports prices above the cap', async () => {
    const payouts = { minPriorityFeePerGas: '1', maxPriorityFeePerGas: '1', maxFeePerGas: '2' };
    const poor = createEvmSender(
      { ...networkOf([anvil.rpcUrl]), payouts },
      { backend, requestTimeoutMs: PATIENT_MS },
    );
    expect(await poor.currentPrices()).toEqual({ maxFeePerGas: 2n, maxPriorityFeePerGas: 1n });
    expect(await poor.prepare([paying(1n)])).toEqual([
      {
        kind: 'OBSTACLE',
        obstacle: 'FEES_ABOVE_CAP',
        detail: expect.stringMatching(/the cap 2 wei/) as unknown as string,
      },
    ]);
  });
});

describe('broadcast', () => {
  test('returns KNOWN for a repeat, then NONCE_TOO_LOW', async () => {
    const transaction = await signed(paying(1n));
    expect(await sender.broadcast([transaction])).toEqual(['ACCEPTED']);
    expect(await sender.broadcast([transaction])).toEqual(['KNOWN']);
    await mineBlock();
    expect(await sender.broadcast([transaction])).toEqual(['NONCE_TOO_LOW']);
    expect(await succeeded(transaction)).toBe(true);
  });

  test('replaces the pending transaction only by a raise', async () => {
    const intent = paying(11n);
    const first = await signed(intent);
    expect(await sender.broadcast([first])).toEqual(['ACCEPTED']);
    const small = { ...first.terms, gasLimit: first.terms.gasLimit + 1n };
    expect(await sender.broadcast([await sender.sign(intent, first.nonce, small)])).toEqual(['UNDERPRICED']);
    const terms = sender.raise(first.terms, await sender.currentPrices());
    if (terms === undefined) throw new Error('no raise');
    const second = await sender.sign(intent, first.nonce, terms);
    expect(await sender.broadcast([second, first])).toEqual(['ACCEPTED', 'UNDERPRICED']);
    await mineBlock();
    expect(await succeeded(second)).toBe(true);
    expect(await rpc('eth_getTransactionReceipt', first.txHash)).toBeNull();
    expect(await tokenBalance(anvil.rpcUrl, USDT, intent.to)).toBe(11n);
  });

  test('replaces a payment by a cancel, which uses its nonce', async () => {
    const intent = paying(13n);
    const payment = await signed(intent);
    expect(await sender.broadcast([payment])).toEqual(['ACCEPTED']);
    const prices = sender.raise(payment.terms, await sender.currentPrices());
    if (prices === undefined) throw new Error('no raise');
    const cancel = await sender.signCancel(FIRST, payment.nonce, prices);
    expect(await sender.broadcast([cancel])).toEqual(['ACCEPTED']);
    await mineBlock();
    expect(await succeeded(cancel)).toBe(true);
    expect(await rpc('eth_getTransactionReceipt', payment.txHash)).toBeNull();
    expect(await tokenBalance(anvil.rpcUrl, USDT, intent.to)).toBe(0n);
    expect(await sender.latestCount(FIRST)).toBe(payment.nonce + 1);
  });

  test('returns an outcome for missing funds, too little gas, and a future nonce', async () => {
    const terms = await termsOf(paying(1n));
    const poor = await sender.sign(paying(1n, null, POOR.address), 0, terms);
    const starved = await sender.sign(paying(1n, USDT, THIRD), await sender.latestCount(THIRD), {
      ...terms,
      gasLimit: 20_000n,
    });
    const later = await sender.sign(paying(1n, USDT, FOURTH), (await sender.latestCount(FOURTH)) + 3, terms);
    const cheap = await sender.sign(paying(1n, USDT, THIRD), await sender.latestCount(THIRD), {
      ...terms,
      maxFeePerGas: 1n,
      maxPriorityFeePerGas: 1n,
    });
    expect(await sender.broadcast([poor, starved, later, cheap])).toEqual([
      'NO_GAS_MONEY',
      'REFUSED',
      // Nodes keep it until the nonces before it arrive.
      'ACCEPTED',
      'UNDERPRICED',
    ]);
    expect(answers.map(({ said }) => said)).toEqual([
      expect.stringMatching(/insufficient funds/i),
      expect.stringMatching(/gas/),
      undefined,
      expect.stringMatching(/fee/),
    ]);
    await rpc('anvil_dropTransaction', later.txHash);
  });

  test('returns UNKNOWN when the answer is lost, though the transaction arrived', async () => {
    const proxy = await proxyWith({
      override: async (call, honest) => {
        if (call.method !== 'eth_sendRawTransaction') return undefined;
        await honest(call);
        throw new Error('the connection is reset after the node took it');
      },
    });
    const transaction = await signed(paying(17n));
    expect(await senderOn([proxy.url]).broadcast([transaction])).toEqual(['UNKNOWN']);
    expect(await sender.broadcast([transaction])).toEqual(['KNOWN']);
    await mineBlock();
    expect(await succeeded(transaction)).toBe(true);
  });

  test("counts one source's acceptance, but not one with another hash", async () => {
    const wrong = await proxyWith({
      override: async ({ method }) =>
        method === 'eth_sendRawTransaction' ? { result: `0x${'ab'.repeat(32)}` } : undefined,
    });
    const transaction = await signed(paying(19n));
    expect(await senderOn([wrong.url]).broadcast([transaction])).toEqual(['UNKNOWN']);
    expect(answers).toEqual([
      expect.objectContaining({
        outcome: 'UNKNOWN',
        wrongHash: true,
        said: expect.stringMatching(/abab/) as unknown as string,
      }),
    ]);
    const dead = `http://127.0.0.1:${await findFreePort()}`;
    expect(await senderOn([wrong.url, dead, anvil.rpcUrl]).broadcast([transaction])).toEqual(['ACCEPTED']);
    await mineBlock();
  });

  test('broadcasts more transactions than a batch, in any order', async () => {
    const proxy = await proxyWith({});
    const terms = await termsOf(paying(1n, USDT, SECOND));
    const count = await sender.latestCount(SECOND);
    const transactions = await Promise.all(
      Array.from({ length: 120 }, (_, place) => sender.sign(paying(1n, USDT, SECOND), count + place, terms)),
    );
    const outcomes = await senderOn([proxy.url]).broadcast(transactions.toReversed());
    expect(new Set(outcomes)).toEqual(new Set(['ACCEPTED']));
    await mineBlock();
    expect(await sender.latestCount(SECOND)).toBe(count + 120);
  });

  test('returns UNKNOWN at once when aborted', async () => {
    const controller = new AbortController();
    controller.abort();
    const transaction = await signed(paying(1n));
    expect(await sender.broadcast([transaction], { signal: controller.signal })).toEqual(['UNKNOWN']);
    expect(await sender.broadcast([])).toEqual([]);
  });
});

describe('countAt and latestCount', () => {
  const headOf = async (): Promise<{ height: number; hash: BlockHash }> => {
    const head = await rpc<{ number: string; hash: BlockHash }>('eth_getBlockByNumber', 'latest', false);
    return { height: Number(head.number), hash: head.hash };
  };

  test('counts at a block by its hash, or by its height without EIP-1898', async () => {
    const before = await headOf();
    const count = await sender.latestCount(THIRD);
    await sender.broadcast([await signed(paying(1n, USDT, THIRD))]);
    await mineBlock();
    const after = await headOf();
    const old = await proxyWith({
      override: async ({ method, params }) =>
        method === 'eth_getTransactionCount' && typeof params[1] === 'object'
          ? { error: { code: -32602, message: 'invalid argument 1: json: cannot unmarshal object' } }
          : undefined,
    });
    for (const asked of [sender, senderOn([old.url]), senderOn([anvil.rpcUrl, old.url])]) {
      expect(await asked.countAt(THIRD, before)).toBe(count);
      expect(await asked.countAt(THIRD, after)).toBe(count + 1);
    }
    expect(old.calls['eth_getBlockByNumber']).toBeGreaterThanOrEqual(4);
  });

  test('throws for a count at a block that left the chain', async () => {
    await mineBlock();
    const gone = await headOf();
    await reorg({ rpcUrl: anvil.rpcUrl, depth: 1 });
    const old = await proxyWith({
      override: async ({ method, params }) =>
        method === 'eth_getTransactionCount' && typeof params[1] === 'object'
          ? { error: { code: -32602, message: 'invalid argument 1' } }
          : undefined,
    });
    expect(await codeOf(sender.countAt(FIRST, gone))).toMatch(/^(?:INCONSISTENT_ANSWER|BLOCK_NOT_FOUND)$/);
    expect(await codeOf(senderOn([old.url]).countAt(FIRST, gone))).toBe('INCONSISTENT_ANSWER');
    const { height, hash } = await headOf();
    expect(
      await codeOf(sender.countAt(FIRST, { height: height + 9, hash: `0x${'1'.repeat(64)}` as BlockHash })),
    ).toBe('BLOCK_NOT_FOUND');
    expect(await sender.countAt(FIRST, { height, hash })).toBe(await sender.latestCount(FIRST));
  });

  test('throws for a disputed count at a block, takes the highest latest count', async () => {
    const count = await sender.latestCount(FIRST);
    const offBy = (by: number): Promise<ByzantineRpcProxy> =>
      proxyWith({
        override: async (call, honest) =>
          call.method === 'eth_getTransactionCount'
            ? { result: `0x${(Number(await honest(call)) + by).toString(16)}` }
            : undefined,
      });
    const [more, less] = [await offBy(1), await offBy(-1)];
    expect(await codeOf(senderOn([anvil.rpcUrl, more.url]).countAt(FIRST, await headOf()))).toBe(
      'INCONSISTENT_ANSWER',
    );
    expect(await senderOn([less.url, anvil.rpcUrl]).latestCount(FIRST)).toBe(count);
    expect(await senderOn([anvil.rpcUrl, more.url]).latestCount(FIRST)).toBe(count + 1);
  });

  test('accepts only the latest count at once when the second source is dead', async () => {
    const dead = `http://127.0.0.1:${await findFreePort()}`;
    const two = senderOn([dead, anvil.rpcUrl]);
    expect(await two.latestCount(FIRST)).toBe(await sender.latestCount(FIRST));
    expect(await codeOf(two.countAt(FIRST, await headOf()))).toBe('RPC_UNAVAILABLE');
  });
});

describe('currentPrices', () => {
  const market = (baseFee: bigint, tip: bigint): Promise<ByzantineRpcProxy> =>
    proxyWith({
      override: async ({ method }) =>
        method === 'eth_feeHistory'
          ? {
              result: {
                oldestBlock: '0x1',
                baseFeePerGas: ['0x1', `0x${baseFee.toString(16)}`],
                gasUsedRatio: [0.5],
                reward: [[`0x${tip.toString(16)}`]],
              },
            }
          : undefined,
    });

  test('takes the higher base fee and the lower tip of two sources, within the bounds', async () => {
    const [one, other] = [await market(30n * GWEI, 4n * GWEI), await market(20n * GWEI, 2n * GWEI)];
    expect(await senderOn([one.url, other.url]).currentPrices()).toEqual({
      maxFeePerGas: 62n * GWEI,
      maxPriorityFeePerGas: 2n * GWEI,
    });
    const wrong = await market(10n ** 15n, 10n ** 15n);
    const dearest = await senderOn([wrong.url]).currentPrices();
    // The tip leaves room for three raises.
    expect(dearest).toEqual({ maxFeePerGas: 200n * GWEI, maxPriorityFeePerGas: 3_511_659_807n });
    const bsc = await market(0n, 0n);
    expect(await senderOn([bsc.url]).currentPrices()).toEqual({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n });
  });

  test('uses one source when the other has no prices, and throws when none has', async () => {
    const one = await market(GWEI, GWEI);
    const broken = await proxyWith({
      override: async ({ method }) => (method === 'eth_feeHistory' ? { result: null } : undefined),
    });
    expect(await senderOn([broken.url, one.url]).currentPrices()).toEqual({
      maxFeePerGas: 3n * GWEI,
      maxPriorityFeePerGas: GWEI,
    });
    expect(await codeOf(senderOn([broken.url]).currentPrices())).toBe('INCONSISTENT_ANSWER');
  });

  test('requires the prices of a network', () => {
    const { payouts: _, ...without } = networkOf([anvil.rpcUrl]);
    expect(() => createEvmSender(without, { backend })).toThrow(TypeError);
    expect(() =>
      createEvmSender({ ...without, payouts: { ...PAYOUTS, maxFeePerGas: '1' } }, { backend }),
    ).toThrow(TypeError);
  });
});
