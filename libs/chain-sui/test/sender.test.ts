import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { ExpiringSender, SignedExpiring, Validity } from '@opentill/chain/expiring-sender';
import type { SignerBackend } from '@opentill/chain/signer-backend';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { suiAddressCodec } from '../src/address-codec.ts';
import { decodeHeader, HEADER_MASK } from '../src/decode-checkpoint.ts';
import { createSuiSender, type SuiSenderDeps } from '../src/sender/create-sender.ts';
import { readSignedPayment } from '../src/sender/read-payment-bytes.ts';
import { decodeSigned, encodeSigned } from '../src/sender/transaction-bytes.ts';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { startSuiDevnet, type SuiDevnet, type SuiNode } from '@opentill/devnets/sui/start-sui-devnet';
import { baseUnits } from '@opentill/domain/money';
import { listenLocally } from '@opentill/testkit/local-http-server';
import { GrpcWebFetchTransport, SuiGrpcClient } from '@mysten/sui/grpc';
import { toBase58 } from '@mysten/sui/utils';
import { startByzantineSuiProxy, type ByzantineSuiProxy } from './byzantine-sui-proxy.ts';
import { pointFromScalar, signRecoverable } from 'tiny-secp256k1';

const SUI_TYPE = `0x${'2'.padStart(64, '0')}::sui::SUI`;
const SUI = 10n ** 9n;
const GAS_PRICE_MIST = 500n;
let devnet: SuiDevnet;
let client: SuiGrpcClient;
let other: SuiNode;
let usdc: TokenContract;
let usdt: TokenContract;
const keys = new Map<Address, Uint8Array>();
const wallet = newAddress();
let sender: ExpiringSender;

beforeAll(async () => {
  devnet = await startSuiDevnet({ checkpointMs: 0, seed: 'sender', referenceGasPrice: GAS_PRICE_MIST });
  other = await devnet.control.openNode();
  client = new SuiGrpcClient({
    network: 'localnet',
    transport: new GrpcWebFetchTransport({ baseUrl: devnet.url, format: 'binary' }),
  });
  [usdc, usdt] = [devnet.tokens.USDC as TokenContract, devnet.tokens.USDT as TokenContract];
  await give(wallet, { mist: 100n * SUI, symbol: 'USDC', amountBaseUnits: 1_000_000_000n });
  await give(wallet, { symbol: 'USDT', amountBaseUnits: 1_000_000_000n });
  sender = senderOf([devnet.url]);
  await sender.checkNetwork();
});
afterEach(() => {
  devnet.control.clearFaults();
  devnet.control.setReferenceGasPrice(GAS_PRICE_MIST);
  other.clearFaults();
});
afterAll(() => devnet.close());

function newAddress(): Address {
  const key = randomBytes(32);
  const address = suiAddressCodec.fromPublicKey(pointFromScalar(key, true)!);
  keys.set(address, key);
  return address;
}
function give(address: string, gift: Parameters<SuiDevnet['control']['fund']>[1]): Promise<unknown> {
  return devnet.control.fund(address, { form: 'address', ...gift });
}

/** One URL for two nodes: the first BatchGetTransactions goes to `first`, later ones to `later`. */
async function startBalancer(first: string, later: string) {
  let asked = 0;
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? '';
      const node = path.includes('BatchGetTransactions') && (asked += 1) > 1 ? later : first;
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => /^(content-type|accept|x-grpc-web)$/.test(name)),
      ) as Record<string, string>;
      const answer = await fetch(`${node}${path}`, { method: 'POST', headers, body: await bodyOf(request) });
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(Buffer.from(await answer.arrayBuffer()));
    })();
  });
  const url = await listenLocally(server);
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url, close };
}

async function bodyOf(request: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  for await (const part of request) parts.push(part);
  return new Uint8Array(Buffer.concat(parts));
}

/** Signs for the wallet and for all addresses of `newAddress`. */
const backend: SignerBackend = {
  addresses: [wallet],
  holds: (address) => keys.has(address),
  sign(address, digest) {
    const { signature, recoveryId } = signRecoverable(digest, keys.get(address)!);
    return Promise.resolve(Uint8Array.from([...signature, recoveryId]));
  },
};

function senderOf(
  rpcUrls: readonly string[],
  payouts: Partial<NetworkConfig['payouts']> = {},
  deps: Partial<SuiSenderDeps> = {},
  chain: 'SUI' | 'SUI_TEST' = 'SUI_TEST',
): ExpiringSender {
  const token = { decimals: 6, displayDecimals: 2, minAmount: null, maxAmount: null };
  const network: NetworkConfig = {
    chain,
    family: 'SUI',
    enabled: true,
    genesisId: devnet.chainId,
    name: 'devnet',
    rpcUrls,
    nativeSymbol: 'SUI',
    nativeDecimals: 9,
    confirmations: 1,
    blockTimeMs: 250,
    pollIntervalMs: 30,
    reorgWindow: 60,
    maxBlockRange: 50,
    tokens: [
      { symbol: 'USDC', contract: usdc, ...token },
      { symbol: 'USDT', contract: usdt, ...token },
    ],
    payouts: {
      maxOpenPayouts: 300,
      maxGasBudgetMist: '50000000',
      maxGasPriceMist: '5000',
      ...payouts,
    },
  };
  return createSuiSender(network, { backend, requestTimeoutMs: 20_000, ...deps });
}

const randomAddress = (): Address => `0x${randomBytes(32).toString('hex')}` as Address;
const pay = (change: Partial<PaymentIntent> = {}): PaymentIntent => ({
  from: wallet,
  contract: usdc,
  to: randomAddress(),
  amountBaseUnits: baseUnits(5_000_000n),
  ...change,
});

let uniqueMs = Date.now();
async function validity(change: Partial<Validity> = {}): Promise<Validity> {
  const { response } = await client.ledgerService.getCheckpoint({
    readMask: HEADER_MASK,
    checkpointId: { oneofKind: undefined },
  });
  const { height, hash, epoch } = decodeHeader(response.checkpoint);
  uniqueMs += 1;
  return {
    ...(await sender.epochs!.currentWindow(epoch)),
    reference: { height, hash },
    uniqueMs,
    ...change,
  };
}
async function signed(intent: PaymentIntent, by = sender, bounds?: Validity): Promise<SignedExpiring> {
  const [prepared] = await by.prepare([intent]);
  if (prepared?.kind !== 'READY') throw new Error(`not ready: ${JSON.stringify(prepared)}`);
  return by.sign(intent, bounds ?? (await validity()), prepared.feeLimitBaseUnits, prepared.funding);
}
async function heldBy(owner: string, coinType: string) {
  const { balance } = await client.getBalance({ owner, coinType });
  return { total: BigInt(balance.balance), coins: BigInt(balance.coinBalance) };
}
async function readTransaction(digest: TxHash) {
  const include = { effects: true, balanceChanges: true } as const;
  const { Transaction: done, FailedTransaction: failed } = await client.getTransaction({ digest, include });
  return (done ?? failed)!;
}
const nothing = { total: 0n, coins: 0n };

describe('hot wallet payments', () => {
  test('pays a coin for at most the fee limit', async () => {
    for (const contract of [usdc, usdt, null]) {
      const intent = pay({ contract });
      const before = await heldBy(wallet, SUI_TYPE);
      const payment = await signed(intent);
      expect(await sender.broadcast([payment])).toEqual(['ACCEPTED']);
      devnet.control.checkpoint();
      expect(await heldBy(intent.to, contract ?? SUI_TYPE)).toEqual({ total: 5_000_000n, coins: 5_000_000n });
      const spent =
        before.total - (await heldBy(wallet, SUI_TYPE)).total - (contract === null ? 5_000_000n : 0n);
      expect(spent).toBeGreaterThan(0n);
      expect(spent).toBeLessThanOrEqual(payment.feeLimitBaseUnits);
    }
  });

  test('pays once although the bytes are sent repeatedly, and twice for equal payments', async () => {
    const intent = pay();
    const both = senderOf([devnet.url, other.url]);
    const [first, second] = [await signed(intent), await signed(intent)];
    expect(second.txHash).not.toBe(first.txHash);
    const sent = [first, first, second];
    expect(await both.broadcast(sent)).toEqual(['ACCEPTED', 'ACCEPTED', 'ACCEPTED']);
    devnet.control.checkpoint();
    expect(await both.broadcast(sent)).toEqual(['ACCEPTED', 'ACCEPTED', 'ACCEPTED']);
    devnet.control.checkpoint();
    expect((await heldBy(intent.to, usdc)).total).toBe(10_000_000n);
  });

  test('signs reproducible bytes, in which differenceOf finds each difference', async () => {
    const intent = pay();
    const bounds = await validity();
    const payment = await signed(intent, sender, bounds);
    expect((await signed(intent, sender, bounds)).txHash).toBe(payment.txHash);
    const { feeLimitBaseUnits } = payment;
    const claim = { intent, validity: bounds, feeLimitBaseUnits };
    expect(sender.differenceOf(payment, claim)).toBeUndefined();
    for (const [field, wrong] of [
      ['signer', { intent: { ...intent, from: randomAddress() } }],
      ['to', { intent: { ...intent, to: randomAddress() } }],
      ['contract', { intent: { ...intent, contract: usdt } }],
      ['amountBaseUnits', { intent: { ...intent, amountBaseUnits: baseUnits(5_000_001n) } }],
      ['feeLimit', { feeLimitBaseUnits: feeLimitBaseUnits + 1n }],
      ['nonce', { validity: { ...bounds, uniqueMs: bounds.uniqueMs + 1 } }],
      ['epochs', { validity: { ...bounds, epochs: { first: 0, last: 99 } } }],
    ] as const)
      expect(sender.differenceOf(payment, { ...claim, ...wrong })).toBe(field);
    const { transaction, signatures } = decodeSigned(payment.raw);
    const [signature] = signatures;
    for (const raw of [
      encodeSigned({ transaction, signatures: [] }),
      encodeSigned({ transaction, signatures: [signature!, signature!] }),
      encodeSigned({ transaction: Uint8Array.from([...transaction, 0]), signatures }),
      Uint8Array.from([...payment.raw, 0]),
      payment.raw.map((byte, place) => (place === payment.raw.length - 40 ? byte ^ 1 : byte)),
    ])
      expect(sender.differenceOf({ ...payment, raw }, claim)).toMatch(/encoding|signer|txHash/);
  });

  test('rejects a payment without key, amount, payable receiver, fee or epoch bounds', async () => {
    const [prepared] = await sender.prepare([pay()]);
    if (prepared?.kind !== 'READY') throw new Error('not ready');
    const { feeLimitBaseUnits, funding } = prepared;
    const bounds = await validity();
    const refusals: [PaymentIntent, Validity, bigint, string][] = [
      [pay({ from: randomAddress() }), bounds, feeLimitBaseUnits, 'WALLET_UNKNOWN'],
      [pay({ amountBaseUnits: baseUnits(0n) }), bounds, feeLimitBaseUnits, 'INTENT_INVALID'],
      [pay({ amountBaseUnits: baseUnits(1n << 64n) }), bounds, feeLimitBaseUnits, 'INTENT_INVALID'],
      [pay({ to: `0x${'2'.padStart(64, '0')}` as Address }), bounds, feeLimitBaseUnits, 'INTENT_INVALID'],
      [pay(), bounds, 0n, 'INTENT_INVALID'],
      [pay(), bounds, 50_000_001n, 'INTENT_INVALID'],
      [pay(), { ...bounds, epochs: { first: 0, last: 2 } }, feeLimitBaseUnits, 'INTENT_INVALID'],
      [pay(), { ...bounds, expiresMs: 1.8e16 }, feeLimitBaseUnits, 'INTENT_INVALID'],
      [pay({ resource: 'LEND_ENERGY' }), bounds, feeLimitBaseUnits, 'INTENT_INVALID'],
    ];
    for (const [intent, when, fee, code] of refusals)
      await expect(sender.sign(intent, when, fee, funding)).rejects.toMatchObject({ code });
    await expect(sender.sign(pay(), bounds, feeLimitBaseUnits)).rejects.toMatchObject({
      code: 'INTENT_INVALID',
    });
  });

  test('prepares no payment that the chain would reject, unless only one node denies it', async () => {
    const denied = pay();
    devnet.control.denyAddress('USDC', denied.to, true);
    const tooMuch = pay({ amountBaseUnits: baseUnits(10n ** 15n) });
    expect(await sender.prepare([denied, tooMuch, pay()])).toEqual([
      { kind: 'OBSTACLE', obstacle: 'WOULD_FAIL', detail: expect.any(String) },
      { kind: 'OBSTACLE', obstacle: 'WOULD_FAIL', detail: expect.any(String) },
      expect.objectContaining({ kind: 'READY' }),
    ]);
    for (const [terms, detail] of [
      [{ maxGasPriceMist: '400' }, /the gas price is 500 MIST, the cap is 400/],
      [{ maxGasBudgetMist: '2500000', maxGasPriceMist: '2500' }, /it may cost \d+ MIST, the cap is 2500000/],
    ] as const)
      expect(await senderOf([devnet.url], terms).prepare([pay()])).toEqual([
        { kind: 'OBSTACLE', obstacle: 'FEES_ABOVE_CAP', detail: expect.stringMatching(detail) },
      ]);
    const both = senderOf([devnet.url, other.url]);
    devnet.control.fault({ kind: 'status', method: 'SimulateTransaction', code: 'INVALID_ARGUMENT' });
    expect(await both.prepare([pay()])).toEqual([expect.objectContaining({ kind: 'READY' })]);
  });
});

describe('wrong prices from one of two nodes', () => {
  const wrongPrices: readonly (readonly [string, bigint, bigint])[] = [
    ['a low gas price and a high cost', 1n, 32_000_000n],
    ['a high gas price and a low cost', 4_000n, 1n],
  ];
  let byzantine: ByzantineSuiProxy;
  afterEach(() => byzantine.close());
  test.each(wrongPrices)(
    'signs a payment that the chain accepts although one node reports %s',
    async (_, priceMist, costMist) => {
      byzantine = await startByzantineSuiProxy(other.url, { priceMist, costMist });
      const deposit = newAddress();
      await give(deposit, { symbol: 'USDT', amountBaseUnits: 10_000_000n });
      for (const urls of [
        [devnet.url, byzantine.url],
        [byzantine.url, devnet.url],
      ])
        for (const intent of [pay(), pay({ from: deposit, contract: usdt })]) {
          const payment = await signed(intent, senderOf(urls));
          expect(payment.feeLimitBaseUnits).toBeLessThanOrEqual(50_000_000n);
          expect(await sender.broadcast([payment])).toEqual(['ACCEPTED']);
          devnet.control.checkpoint();
          expect((await readTransaction(payment.txHash)).status.success).toBe(true);
        }
    },
  );
});

describe('gas price across epochs', () => {
  test('raises the gas price by a quarter for two epochs, but never above the cap', async () => {
    const { epochs, ...bounds } = await validity();
    const both = { ...bounds, epochs: { first: epochs!.first, last: epochs!.first + 1 } };
    const priceIn = ({ raw }: SignedExpiring) => readSignedPayment(raw).gas.priceMist;
    expect(priceIn(await signed(pay(), sender, { ...bounds, epochs: epochs! }))).toBe(GAS_PRICE_MIST);
    const payment = await signed(pay(), sender, both);
    expect(priceIn(payment)).toBe(625n);
    expect(priceIn(await signed(pay(), senderOf([devnet.url], { maxGasPriceMist: '600' }), both))).toBe(600n);
    devnet.control.advanceEpoch();
    devnet.control.setReferenceGasPrice(625n);
    expect(await sender.broadcast([payment])).toEqual(['ACCEPTED']);
    devnet.control.checkpoint();
    expect((await readTransaction(payment.txHash)).status.success).toBe(true);
  });
});

describe('parallel payments', () => {
  test('executes 40 payments of one wallet at once without a conflict', async () => {
    const intents = Array.from({ length: 40 }, () => pay({ amountBaseUnits: baseUnits(1_000n) }));
    const payments: SignedExpiring[] = [];
    const bounds = await validity();
    for (const [place, answer] of (await sender.prepare(intents)).entries()) {
      if (answer.kind !== 'READY') throw new Error(answer.detail);
      uniqueMs += 1;
      const { feeLimitBaseUnits, funding } = answer;
      payments.push(await sender.sign(intents[place]!, { ...bounds, uniqueMs }, feeLimitBaseUnits, funding));
    }
    expect(new Set(await sender.broadcast(payments))).toEqual(new Set(['ACCEPTED']));
    devnet.control.checkpoint();
    for (const { to } of intents.slice(0, 5)) expect((await heldBy(to, usdc)).total).toBe(1_000n);
    for (const { txHash } of payments) expect((await readTransaction(txHash)).status.success).toBe(true);
  });
});

describe('broadcast outcomes', () => {
  test('maps the answer of a node to an outcome', async () => {
    const payment = await signed(pay());
    const limited = senderOf([devnet.url]); // a client of its own: it remembers the rate limit
    const outcomeFor = async (status: string): Promise<unknown> => {
      devnet.control.fault({ kind: 'status', method: 'ExecuteTransaction', code: status, times: 1 } as never);
      return (await limited.broadcast([payment]))[0];
    };
    expect(await outcomeFor('INVALID_ARGUMENT')).toBe('REFUSED');
    expect(await outcomeFor('FAILED_PRECONDITION')).toBe('REFUSED');
    for (const status of ['UNAVAILABLE', 'RESOURCE_EXHAUSTED', 'INTERNAL', 'NOT_FOUND', 'DEADLINE_EXCEEDED'])
      expect([status, await outcomeFor(status)]).toEqual([status, 'UNKNOWN']);
    const { epochs } = payment.validity;
    const late = await signed(
      pay(),
      sender,
      await validity({ epochs: { first: epochs!.last + 1, last: epochs!.last + 1 } }),
    );
    expect(await sender.broadcast([late])).toEqual(['EXPIRED']);
    const poor = newAddress();
    await give(poor, { symbol: 'USDC', amountBaseUnits: 5_000_000n });
    const poorSender = senderOf([devnet.url], {}, { backend: { ...backend, addresses: [poor] } });
    expect(await poorSender.broadcast([await signed(pay({ from: poor }), poorSender)])).toEqual(['NO_FUNDS']);
  });

  test('returns UNKNOWN for a lost answer, and sending the bytes again pays once', async () => {
    for (const kind of ['lose-execute-answer', 'swallow-execute'] as const) {
      const payment = await signed(pay());
      devnet.control.fault({ kind, times: 1 });
      // The client itself may resend after a broken connection.
      expect(['UNKNOWN', 'ACCEPTED']).toContain((await sender.broadcast([payment]))[0]);
      expect(await sender.broadcast([payment])).toEqual(['ACCEPTED']);
      devnet.control.checkpoint();
      expect((await readTransaction(payment.txHash)).status.success).toBe(true);
    }
  });
});

describe('sweeps', () => {
  test.each(['coin', 'address', 'party'] as const)(
    'sweeps without a fee if the network moves the coin without gas: %s',
    async (form) => {
      const deposit = newAddress();
      await give(deposit, { symbol: 'USDC', amountBaseUnits: 3_000_000n, form });
      await give(deposit, { symbol: 'USDC', amountBaseUnits: 4_000_000n, form });
      const intent = pay({ from: deposit, amountBaseUnits: baseUnits(7_000_000n) });
      const payment = await signed(intent);
      expect(payment.feeLimitBaseUnits).toBe(0n);
      expect(decodeSigned(payment.raw).signatures).toHaveLength(1);
      expect(await sender.broadcast([payment])).toEqual(['ACCEPTED']);
      devnet.control.checkpoint();
      expect(await heldBy(intent.to, usdc)).toEqual({ total: 7_000_000n, coins: 0n });
      expect(await heldBy(deposit, usdc)).toEqual(nothing);
      expect(await heldBy(deposit, SUI_TYPE)).toEqual(nothing);
    },
  );

  test.each(['coin', 'address', 'party'] as const)(
    'sweeps with the hot wallet as sponsor if the coin needs gas: %s',
    async (form) => {
      for (const [symbol, contract] of [
        ['USDT', usdt],
        ['SUI', null],
      ] as const) {
        const deposit = newAddress();
        const gift = symbol === 'SUI' ? { mist: 3_000_000n } : { symbol, amountBaseUnits: 3_000_000n };
        await give(deposit, { ...gift, form });
        await give(deposit, { ...gift, form: 'address' });
        const intent = pay({ from: deposit, contract, amountBaseUnits: baseUnits(6_000_000n) });
        const before = await heldBy(wallet, SUI_TYPE);
        const payment = await signed(intent);
        expect(payment.feeLimitBaseUnits).toBeGreaterThan(0n);
        expect(decodeSigned(payment.raw).signatures).toHaveLength(2);
        expect(await sender.broadcast([payment])).toEqual(['ACCEPTED']);
        devnet.control.checkpoint();
        expect(await heldBy(intent.to, contract ?? SUI_TYPE)).toEqual({ total: 6_000_000n, coins: 0n });
        expect(await heldBy(deposit, contract ?? SUI_TYPE)).toEqual(nothing);
        expect(await heldBy(deposit, SUI_TYPE)).toEqual(nothing);
        const { total } = await heldBy(wallet, SUI_TYPE);
        expect(before.total - total).toBeLessThanOrEqual(payment.feeLimitBaseUnits);
      }
    },
  );

  test('sweeps exactly the amount and leaves the rest in the address balance', async () => {
    const deposit = newAddress();
    await give(deposit, { symbol: 'USDC', amountBaseUnits: 3_000_000n, form: 'coin' });
    await give(deposit, { symbol: 'USDC', amountBaseUnits: 4_000_000n, form: 'coin' });
    await give(deposit, { symbol: 'USDC', amountBaseUnits: 100_000n });
    for (const amount of [5_000_000n, 2_100_000n]) {
      const intent = pay({ from: deposit, amountBaseUnits: baseUnits(amount) });
      const payment = await signed(intent);
      expect(await sender.broadcast([payment])).toEqual(['ACCEPTED']);
      devnet.control.checkpoint();
      expect(await heldBy(intent.to, usdc)).toEqual({ total: amount, coins: 0n });
    }
    expect(await heldBy(deposit, usdc)).toEqual(nothing);
  });

  test('sponsors a sweep if operator, network or minimum amount forbid gasless transfers', async () => {
    const sweep = async (by: ExpiringSender, amountBaseUnits: bigint): Promise<bigint> => {
      const deposit = newAddress();
      await give(deposit, { symbol: 'USDC', amountBaseUnits });
      const intent = pay({ from: deposit, amountBaseUnits: baseUnits(amountBaseUnits) });
      const payment = await signed(intent, by);
      expect(await by.broadcast([payment])).toEqual(['ACCEPTED']);
      devnet.control.checkpoint();
      expect((await heldBy(intent.to, usdc)).total).toBe(amountBaseUnits);
      return payment.feeLimitBaseUnits;
    };
    expect(await sweep(sender, 10_000n)).toBe(0n);
    expect(await sweep(sender, 9_999n)).toBeGreaterThan(0n);
    expect(await sweep(senderOf([devnet.url], {}, { gasless: false }), 10_000n)).toBeGreaterThan(0n);
    devnet.control.setGasless('USDC', undefined);
    expect(await sweep(sender, 10_000n)).toBeGreaterThan(0n);
    devnet.control.setGasless('USDC', 10_000n);
  });

  test('prepares no sweep while two nodes choose different funds', async () => {
    const deposit = newAddress();
    await give(deposit, { symbol: 'USDC', amountBaseUnits: 3_000_000n, form: 'coin' });
    const both = senderOf([devnet.url, other.url]);
    const intent = pay({ from: deposit, amountBaseUnits: baseUnits(3_000_000n) });
    // The first simulation, without gas, fails at one node. The second, with gas, succeeds.
    const refusal = { kind: 'status', method: 'SimulateTransaction', code: 'INVALID_ARGUMENT' } as const;
    other.fault({ ...refusal, times: 1 });
    const [paidFor] = await both.prepare([intent]);
    expect(paidFor).toMatchObject({ kind: 'READY' });
    expect(paidFor?.kind === 'READY' && paidFor.costBaseUnits > 0n).toBe(true);
    expect(await both.prepare([intent])).toEqual([
      expect.objectContaining({ kind: 'READY', costBaseUnits: 0n }),
    ]);
    const unclear = [{ kind: 'OBSTACLE', obstacle: 'UNCLEAR', detail: expect.any(String) }];
    other.fault(refusal);
    expect(await both.prepare([intent])).toEqual(unclear);
    other.clearFaults();
    // One answer is not enough when two sources are configured.
    other.fault({ kind: 'status', method: 'GetEpoch', code: 'UNAVAILABLE' });
    expect(await both.prepare([intent])).toEqual(unclear);
  });

  test('sweeps SUI to the sponsor itself', async () => {
    const deposit = newAddress();
    await give(deposit, { mist: 3n * SUI, form: 'coin' });
    const before = await heldBy(wallet, SUI_TYPE);
    const intent = pay({ from: deposit, to: wallet, contract: null, amountBaseUnits: baseUnits(3n * SUI) });
    expect(await sender.broadcast([await signed(intent)])).toEqual(['ACCEPTED']);
    devnet.control.checkpoint();
    expect(await heldBy(deposit, SUI_TYPE)).toEqual(nothing);
    expect((await heldBy(wallet, SUI_TYPE)).total - before.total).toBeGreaterThan(3n * SUI - 50_000_000n);
  });

  test('accepts stored bytes of a sweep after the sponsoring hot wallet has changed', async () => {
    const deposit = newAddress();
    await give(deposit, { symbol: 'USDT', amountBaseUnits: 3_000_000n });
    const intent = pay({ from: deposit, contract: usdt, amountBaseUnits: baseUnits(3_000_000n) });
    const payment = await signed(intent);
    const { validity: bounds, feeLimitBaseUnits } = payment;
    const next = senderOf([devnet.url], {}, { backend: { ...backend, addresses: [newAddress()] } });
    expect(next.differenceOf(payment, { intent, validity: bounds, feeLimitBaseUnits })).toBeUndefined();
  });

  test('needs the signatures of both deposit address and sponsor for a sweep', async () => {
    const deposit = newAddress();
    await give(deposit, { symbol: 'USDT', amountBaseUnits: 3_000_000n });
    const intent = pay({ from: deposit, contract: usdt, amountBaseUnits: baseUnits(3_000_000n) });
    const payment = await signed(intent);
    const { transaction, signatures } = decodeSigned(payment.raw);
    const claim = { intent, validity: payment.validity, feeLimitBaseUnits: payment.feeLimitBaseUnits };
    expect(sender.differenceOf(payment, claim)).toBeUndefined();
    const half = encodeSigned({ transaction, signatures: signatures.slice(0, 1) });
    expect(sender.differenceOf({ ...payment, raw: half }, claim)).toBe('signer');
    expect(await sender.broadcast([{ ...payment, raw: half }])).toEqual(['REFUSED']);
    const [prepared] = await sender.prepare([intent]);
    if (prepared?.kind !== 'READY') throw new Error('not ready');
    keys.delete(deposit);
    await expect(
      sender.sign(intent, await validity(), prepared.feeLimitBaseUnits, prepared.funding),
    ).rejects.toMatchObject({ code: 'WALLET_UNKNOWN' });
  });
});

describe('gathering of coins', () => {
  test('gathers coins into the address balance, SUI first, which pays for the rest', async () => {
    const poor = newAddress();
    for (const mist of [2n * SUI, 3n * SUI]) await give(poor, { mist, form: 'coin' });
    await give(poor, { symbol: 'USDC', amountBaseUnits: 7_000_000n, form: 'coin' });
    await give(poor, { symbol: 'USDC', amountBaseUnits: 1_000_000n, form: 'party' });
    const own = senderOf([devnet.url], {}, { backend: { ...backend, addresses: [poor] } });
    const scattered = async () => (await own.balances(poor, [null, usdc])).scattered;
    expect(await scattered()).toEqual(
      new Map([
        [null, 5n * SUI],
        [usdc, 8_000_000n],
      ]),
    );
    // There is no SUI in the address balance for the fee.
    expect(await own.gathering!.signGathering(poor, usdc, await validity())).toBeUndefined();
    for (const contract of [null, usdc]) {
      const gathering = await own.gathering!.signGathering(poor, contract, await validity());
      expect(await own.broadcast([gathering!])).toEqual(['ACCEPTED']);
      devnet.control.checkpoint();
    }
    const left = await scattered();
    expect(left?.get(usdc)).toBe(0n);
    expect(left?.get(null)).toBeLessThan(60_000_000n);
    expect((await heldBy(poor, usdc)).total).toBe(8_000_000n);
    expect((await heldBy(poor, SUI_TYPE)).total).toBeGreaterThan(5n * SUI - 10_000_000n);
    expect(await own.gathering!.signGathering(poor, usdc, await validity())).toBeUndefined();
  });
});

describe('gathering of few coins', () => {
  const gather = async (gift: Parameters<typeof give>[1], contract: TokenContract | null) => {
    const poor = newAddress();
    await give(poor, { ...gift, form: 'coin' });
    const own = senderOf([devnet.url], {}, { backend: { ...backend, addresses: [poor] } });
    const send = async () => {
      const gathering = await own.gathering!.signGathering(poor, contract, await validity());
      if (gathering === undefined) return false;
      expect(await own.broadcast([gathering])).toEqual(['ACCEPTED']);
      devnet.control.checkpoint();
      return true;
    };
    const left = async () => (await own.balances(poor, [contract])).scattered.get(contract);
    return { poor, send, left };
  };

  test('gathers coins with the simulated fee even below the maximum budget', async () => {
    // Both have less than the maximum fee of 0.05 SUI.
    const { send, left, poor } = await gather({ mist: 40_000_000n }, null);
    expect(await send()).toBe(true);
    expect(await left()).toBeLessThan(5_000_000n);
    expect((await heldBy(poor, SUI_TYPE)).total).toBeGreaterThan(35_000_000n);
    // The unspent budget stays a coin, which is gathered until it no longer covers the fee.
    while (await send()) expect(await left()).toBeLessThan(5_000_000n);
    const tokens = await gather({ symbol: 'USDC', amountBaseUnits: 7_000_000n }, usdc);
    expect(await tokens.send()).toBe(false);
    await give(tokens.poor, { mist: 20_000_000n });
    expect(await tokens.send()).toBe(true);
    expect(await tokens.left()).toBe(0n);
  });

  test('gathers no coins that only one of two nodes reports, or a node that is behind', async () => {
    const { poor } = await gather({ mist: 3n * SUI }, null);
    const own = { backend: { ...backend, addresses: [poor] } };
    const both = senderOf([devnet.url, other.url], {}, own);
    devnet.control.checkpoint(3);
    other.fault({ kind: 'lag', checkpoints: 2 });
    expect(await both.gathering!.signGathering(poor, null, await validity())).toBeUndefined();
    other.clearFaults();
    expect(await both.gathering!.signGathering(poor, null, await validity())).toMatchObject({
      contract: null,
    });
    other.fault({ kind: 'status', method: 'ListOwnedObjects', code: 'UNAVAILABLE' });
    expect(await both.gathering!.signGathering(poor, null, await validity())).toBeUndefined();
  });

  test('gathers coins and sweeps with one node and an archive', async () => {
    const { poor } = await gather({ mist: 3n * SUI }, null);
    const deposit = newAddress();
    await give(deposit, { symbol: 'USDT', amountBaseUnits: 10_000_000n });
    const reasons: string[] = [];
    const deps = {
      backend: { ...backend, addresses: [poor, wallet] },
      onNotGathered: ({ reason }: { readonly reason: string }) => void reasons.push(reason),
    };
    const sweep = pay({ from: deposit, contract: usdt });
    const outcome = async () => {
      const [gathering, emptying] = [
        senderOf([devnet.url, other.url], {}, deps),
        senderOf([devnet.url, other.url]),
      ];
      return {
        isGathered: (await gathering.gathering!.signGathering(poor, null, await validity())) !== undefined,
        isSwept: (await emptying.prepare([sweep]))[0]?.kind === 'READY',
      };
    };
    const isArchive = (): void => {
      for (const method of ['ListOwnedObjects', 'GetBalance', 'SimulateTransaction'])
        other.fault({ kind: 'status', method, code: 'UNIMPLEMENTED' });
    };
    // A node that is only down still counts; otherwise a single Byzantine node would decide.
    for (const method of ['GetBalance', 'SimulateTransaction'])
      other.fault({ kind: 'status', method, code: 'UNAVAILABLE' });
    expect(await outcome()).toEqual({ isGathered: false, isSwept: false });
    expect(reasons).toEqual(['only one of several nodes reports the coins']);
    other.clearFaults();
    isArchive();
    expect(await outcome()).toEqual({ isGathered: true, isSwept: true });
    // An archive is often behind, too.
    devnet.control.checkpoint(3);
    other.fault({ kind: 'lag', checkpoints: 2 });
    expect(await outcome()).toEqual({ isGathered: true, isSwept: true });
    expect(reasons).toHaveLength(1);
  });
});

describe('findInBlocks after the last epoch', () => {
  test('proves by two complete nodes which transactions did not land', async () => {
    const both = senderOf([devnet.url, other.url]);
    const bounds = await validity();
    const [landed, lost] = [
      await signed(pay(), sender, bounds),
      await signed(pay(), sender, await validity()),
    ];
    expect(await sender.broadcast([landed])).toEqual(['ACCEPTED']);
    devnet.control.checkpoint();
    const stretch = { after: bounds.reference, untilMs: 0, untilEpoch: bounds.epochs!.last };
    const search = (): Promise<unknown> => both.findInBlocks([landed.txHash, lost.txHash], stretch);
    await expect(search()).rejects.toMatchObject({ code: 'BLOCK_NOT_FOUND' });
    for (let epoch = bounds.epochs!.first; epoch <= bounds.epochs!.last; epoch += 1)
      devnet.control.advanceEpoch();
    await expect(search()).rejects.toMatchObject({ code: 'BLOCK_NOT_FOUND' });
    devnet.control.checkpoint(2);
    const { found, end } = await both.findInBlocks([landed.txHash, lost.txHash], stretch);
    expect([...found]).toEqual([landed.txHash]);
    expect(end.map(({ epoch }) => epoch)).toEqual([bounds.epochs!.last + 1, bounds.epochs!.last + 1]);
    expect(await sender.broadcast([lost])).toEqual(['EXPIRED']);
    const wrong = { ...stretch, after: { ...stretch.after, height: stretch.after.height - 1 } };
    await expect(both.findInBlocks([lost.txHash], wrong)).rejects.toMatchObject({
      code: 'INCONSISTENT_ANSWER',
    });
    // A node without its index knows neither the transaction nor those of its own checkpoints.
    other.fault({ kind: 'no-transaction-index' });
    await expect(search()).rejects.toMatchObject({ code: 'INCONSISTENT_ANSWER' });
    devnet.control.fault({ kind: 'no-transaction-index' });
    await expect(search()).rejects.toMatchObject({ code: 'INCONSISTENT_ANSWER' });
    devnet.control.clearFaults();
    other.clearFaults();
    expect([...(await both.findInBlocks([landed.txHash, lost.txHash], stretch)).found]).toEqual([
      landed.txHash,
    ]);
    // A node that has pruned a part, or does not answer, proves no absence.
    other.prune(bounds.reference.height + 2);
    await expect(search()).rejects.toMatchObject({ code: 'BLOCK_NOT_FOUND' });
    other.fault({ kind: 'status', method: 'GetServiceInfo', code: 'UNAVAILABLE' });
    await expect(search()).rejects.toMatchObject({ retryable: true });
  });

  test('rejects nodes behind one URL if a later one has lost its index', async () => {
    const blind = await devnet.control.openNode();
    blind.fault({ kind: 'no-transaction-index' });
    const balancers = await Promise.all([
      startBalancer(devnet.url, blind.url),
      startBalancer(other.url, blind.url),
    ]);
    const bounds = await validity();
    const landed = await signed(pay(), sender, bounds);
    expect(await sender.broadcast([landed])).toEqual(['ACCEPTED']);
    for (let epoch = bounds.epochs!.first; epoch <= bounds.epochs!.last; epoch += 1)
      devnet.control.advanceEpoch();
    devnet.control.checkpoint(2);
    // More than fit into one call: the node without an index answers the second one, with the landed transaction.
    const lost = Array.from({ length: 200 }, () => toBase58(randomBytes(32)) as TxHash);
    const stretch = { after: bounds.reference, untilMs: 0, untilEpoch: bounds.epochs!.last };
    const ask = (urls: readonly string[]) => senderOf(urls).findInBlocks([...lost, landed.txHash], stretch);
    expect((await ask([devnet.url, other.url])).found).toEqual(new Set([landed.txHash]));
    await expect(ask(balancers.map(({ url }) => url))).rejects.toMatchObject({
      code: 'INCONSISTENT_ANSWER',
    });
    await Promise.all(balancers.map((balancer) => balancer.close()));
  });

  test('rejects a single node on a main network', async () => {
    const bounds = await validity();
    const { txHash } = await signed(pay(), sender, bounds);
    for (let epoch = bounds.epochs!.first; epoch <= bounds.epochs!.last; epoch += 1)
      devnet.control.advanceEpoch();
    devnet.control.checkpoint(2);
    const stretch = { after: bounds.reference, untilMs: 0, untilEpoch: bounds.epochs!.last };
    const search = (chain: 'SUI' | 'SUI_TEST', urls: readonly string[]) =>
      senderOf(urls, {}, {}, chain).findInBlocks([txHash], stretch);
    await expect(search('SUI', [devnet.url])).rejects.toMatchObject({ code: 'RPC_UNAVAILABLE' });
    expect((await search('SUI', [devnet.url, other.url])).found).toEqual(new Set());
    expect((await search('SUI_TEST', [devnet.url])).found).toEqual(new Set());
  });

  test('currentWindow rejects a node in another epoch than the own scan', async () => {
    const { epochs } = await validity();
    await expect(sender.epochs!.currentWindow(epochs!.first + 1)).rejects.toMatchObject({
      code: 'BLOCK_NOT_FOUND',
    });
  });
});

describe('readPayment', () => {
  test('reads a payment from the chain by its digest', async () => {
    const intent = pay();
    const payment = await signed(intent);
    await sender.broadcast([payment]);
    devnet.control.checkpoint();
    const { checkpoint: height } = devnet.control.summary();
    expect(await sender.readPayment(payment.txHash, { height })).toMatchObject({
      intent,
      validity: { uniqueMs: payment.validity.uniqueMs, epochs: payment.validity.epochs },
      feeLimitBaseUnits: payment.feeLimitBaseUnits,
      fate: { succeeded: true, deliveredBaseUnits: 5_000_000n },
    });
    expect(await sender.readPayment(payment.txHash, { height: height - 1 })).toBeUndefined();
    const [gift] = (await devnet.control.fund(wallet, { mist: 1n, form: 'party' })).digests;
    expect(await sender.readPayment(gift as TxHash, { height: height + 1 })).toBeUndefined();
  });
});
