import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { ExpiringSender, Validity } from '@opentill/chain/expiring-sender';
import type { SignerBackend } from '@opentill/chain/signer-backend';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { addressOfShortHex } from '../src/address-codec.ts';
import { createMemoryStore } from '../src/witness-keys.ts';
import { createTronSender, type TronSenderDeps } from '../src/sender/create-sender.ts';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { startTronDevnet, type TronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { baseUnits } from '@opentill/domain/money';
import { createByzantineTronProxy } from '@opentill/testkit/byzantine-tron-proxy';
import { heightDigits, withHeader, type BlockWithHeader } from '@opentill/testkit/tron-block-id';
import { signRecoverable } from 'tiny-secp256k1';
import { TronWeb } from 'tronweb';

const VALID_MS = 60_000;
let devnet: TronDevnet;
let usdt: TokenContract;
let wallet: Address;
let sender: ExpiringSender;
const servers: Server[] = [];
beforeAll(async () => {
  devnet = await startTronDevnet({ blockTimeMs: 0, solidLagBlocks: 3, seed: 'sender' });
  usdt = devnet.tokens.USDT as TokenContract;
  wallet = devnet.accounts[1]!.address as Address;
  sender = senderOf([devnet.url]);
  await sender.checkNetwork();
});
afterAll(async () => {
  for (const server of servers) server.close();
  await devnet.close();
});

const backend = (): SignerBackend => ({
  addresses: devnet.accounts.map(({ address }) => address as Address),
  sign(address, digest) {
    const { privateKeyHex } = devnet.accounts.find((account) => account.address === address)!;
    const { signature, recoveryId } = signRecoverable(digest, Buffer.from(privateKeyHex, 'hex'));
    return Promise.resolve(Uint8Array.from([...signature, recoveryId]));
  },
});

function senderOf(
  rpcUrls: readonly string[],
  payouts: Partial<NetworkConfig['payouts']> = {},
  deps: Partial<TronSenderDeps> = {},
): ExpiringSender {
  const token = { displayDecimals: 2, minAmount: null, maxAmount: null };
  const network: NetworkConfig = {
    chain: 'TRON_TEST',
    family: 'TRON',
    enabled: true,
    genesisId: devnet.chainId,
    name: 'devnet',
    rpcUrls,
    nativeSymbol: 'TRX',
    nativeDecimals: 6,
    confirmations: 'finalized',
    blockTimeMs: 3_000,
    pollIntervalMs: 30,
    reorgWindow: 60,
    maxBlockRange: 50,
    tokens: [{ symbol: 'USDT', contract: devnet.tokens.USDT, decimals: 6, ...token }],
    payouts: {
      maxOpenPayouts: 32,
      expirationSeconds: VALID_MS / 1_000,
      maxFeeLimitSun: '100000000',
      energyMarginPercent: 0,
      ...payouts,
    },
  };
  return createTronSender(network, { backend: backend(), requestTimeoutMs: 20_000, ...deps });
}

const randomAddress = (): Address => addressOfShortHex(randomBytes(20).toString('hex'))!;
const pay = (change: Partial<PaymentIntent> = {}): PaymentIntent => ({
  from: wallet,
  contract: usdt,
  to: randomAddress(),
  amountBaseUnits: baseUnits(5_000_000n),
  ...change,
});

interface Header {
  readonly blockID: BlockHash;
  readonly block_header: { readonly raw_data: { readonly number: number; readonly timestamp: number } };
}
interface Info {
  readonly fee?: number;
  readonly receipt?: { readonly result?: string; readonly energy_usage_total?: number };
}
async function ask<T>(path: string, body: object): Promise<T> {
  const answer = await fetch(`${devnet.url}/${path}`, { method: 'POST', body: JSON.stringify(body) });
  return (await answer.json()) as T;
}
let uniqueMs = 1_795_000_000_000;
async function validity(change: Partial<Validity> = {}): Promise<Validity> {
  const solid = await ask<Header>('walletsolidity/getblock', { detail: false });
  uniqueMs += 1;
  return {
    expiresMs: devnet.control.summary().headTimeMs + VALID_MS,
    reference: { height: solid.block_header.raw_data.number, hash: solid.blockID },
    uniqueMs,
    ...change,
  };
}
const infoOf = (txHash: string) => ask<Info>('wallet/gettransactioninfobyid', { value: txHash });

describe('payments', () => {
  test('executes a payment that burns at most the prepared cost', async () => {
    for (const intent of [
      pay(),
      pay({ to: devnet.accounts[2]!.address as Address }),
      pay({ contract: null }),
    ]) {
      const [prepared] = await sender.prepare([intent]);
      if (prepared?.kind !== 'READY') throw new Error(JSON.stringify(prepared));
      const signed = await sender.sign(intent, await validity(), prepared.feeLimitBaseUnits);
      expect(await sender.broadcast([signed])).toEqual(['ACCEPTED']);
      expect(await sender.broadcast([signed])).toEqual(['KNOWN']);
      await devnet.control.mine();
      expect(await sender.broadcast([signed])).toEqual(['KNOWN']);
      const { fee = 0, receipt } = await infoOf(signed.txHash);
      if (intent.contract !== null) expect(receipt?.result).toBe('SUCCESS');
      expect(BigInt(fee)).toBeLessThanOrEqual(prepared.costBaseUnits);
      // The cost is close to the fee, because it is reserved from the wallet's coin.
      expect(prepared.costBaseUnits - BigInt(fee)).toBeLessThan(400_000n);
    }
  });

  test('signs the same bytes as TronWeb', async () => {
    const tronWeb = new TronWeb({ fullHost: devnet.url });
    const bounds = await validity();
    const { height, hash } = bounds.reference;
    const blockHeader = {
      ref_block_bytes: (height & 0xffff).toString(16).padStart(4, '0'),
      ref_block_hash: hash.slice(16, 32),
      expiration: bounds.expiresMs,
      timestamp: bounds.uniqueMs,
    };
    const token = pay();
    const ours = await sender.sign(token, bounds, 30_000_000n);
    const { transaction: theirs } = await tronWeb.transactionBuilder.triggerSmartContract(
      usdt,
      'transfer(address,uint256)',
      { feeLimit: 30_000_000, txLocal: true, blockHeader },
      [
        { type: 'address', value: token.to },
        { type: 'uint256', value: '5000000' },
      ],
      wallet,
    );
    expect(ours.txHash).toBe(theirs.txID);
    expect(Buffer.from(ours.raw).toString('hex')).toContain(theirs.raw_data_hex);
    const native = pay({ contract: null });
    const trx = await tronWeb.transactionBuilder.sendTrx(native.to, 5_000_000, wallet, { blockHeader });
    expect((await sender.sign(native, bounds, 0n)).txHash).toBe(trx.txID);
  });

  test('prepares no payment that the chain would reject', async () => {
    const poor = pay({ from: randomAddress() });
    const toContract = pay({ contract: null, to: usdt as string as Address });
    const tooMuch = pay({ amountBaseUnits: baseUnits(10n ** 30n) });
    const answers = await sender.prepare([poor, toContract, tooMuch, pay()]);
    expect(answers.map((one) => (one.kind === 'READY' ? 'READY' : one.obstacle))).toEqual([
      'WOULD_FAIL',
      'WOULD_FAIL',
      'WOULD_FAIL',
      'READY',
    ]);
    const [capped] = await senderOf([devnet.url], { maxFeeLimitSun: '1000' }).prepare([pay()]);
    expect(capped).toMatchObject({ kind: 'OBSTACLE', obstacle: 'FEES_ABOVE_CAP' });
  });

  test('waits if one of two nodes is above the cap, and two of three decide', async () => {
    const dear = await changing((value) =>
      isList(value) || value['energy_used'] === undefined
        ? value
        : { ...value, energy_used: Number(value['energy_used']) * 100 },
    );
    for (const urls of [
      [dear, devnet.url],
      [devnet.url, dear],
    ])
      expect(await senderOf(urls).prepare([pay()])).toMatchObject([{ obstacle: 'FEES_ABOVE_CAP' }]);
    // Asks a third source, in any order. Two that agree decide, and their price counts.
    const another = await changing((value) => value);
    const [honest] = await sender.prepare([pay()]);
    for (const urls of [
      [dear, devnet.url, another],
      [devnet.url, dear, another],
      [devnet.url, another, dear],
    ])
      expect(await senderOf(urls).prepare([pay()])).toEqual([honest]);
    const dearToo = await changing((value) =>
      isList(value) || value['energy_used'] === undefined
        ? value
        : { ...value, energy_used: Number(value['energy_used']) * 200 },
    );
    expect(await senderOf([devnet.url, dear, dearToo]).prepare([pay()])).toMatchObject([
      { obstacle: 'FEES_ABOVE_CAP' },
    ]);
  });

  test('waits if two nodes differ on whether a payment succeeds, and two of three decide', async () => {
    const eager = await answering({ energy_used: 10 });
    const tooMuch = [pay({ amountBaseUnits: baseUnits(10n ** 30n) })];
    for (const urls of [
      [eager, devnet.url],
      [devnet.url, eager],
    ])
      expect(await senderOf(urls).prepare(tooMuch)).toMatchObject([
        { kind: 'OBSTACLE', obstacle: 'UNCLEAR', detail: expect.stringContaining('REVERT') },
      ]);
    const another = await changing((value) => value);
    for (const urls of [
      [eager, devnet.url, another],
      [devnet.url, another, eager],
    ])
      expect(await senderOf(urls).prepare(tooMuch)).toMatchObject([{ obstacle: 'WOULD_FAIL' }]);
    const refusing = await answering({ result: { message: 'aa' } });
    const [honest] = await sender.prepare([pay()]);
    for (const urls of [
      [refusing, devnet.url, another],
      [devnet.url, refusing, another],
    ])
      expect(await senderOf(urls).prepare([pay()])).toEqual([honest]);
    expect(await senderOf([refusing, devnet.url]).prepare([pay()])).toMatchObject([{ obstacle: 'UNCLEAR' }]);
  });

  test('takes no fee limit from one of two nodes until the other was away for long', async () => {
    const eager = await answering({ energy_used: 10 });
    const [honest] = await sender.prepare([pay()]);
    for (const urls of [
      [eager, devnet.url],
      [devnet.url, eager],
    ])
      expect(await senderOf(urls).prepare([pay()])).toEqual([honest]);
    const busy = await createByzantineTronProxy({
      upstreamUrl: devnet.url,
      seed: 1,
      faults: { rateLimited: 1 },
    });
    for (const away of [busy.url, 'http://127.0.0.1:1'])
      for (const urls of [
        [eager, away],
        [away, eager],
      ])
        await expect(senderOf(urls).prepare([pay()])).rejects.toMatchObject({ retryable: true });
    await busy.close();
    let now = 0;
    const singleSources: string[] = [];
    const left = senderOf(
      [devnet.url, 'http://127.0.0.1:1'],
      {},
      {
        nowMs: () => now,
        onSingleSource: ({ label }) => singleSources.push(label),
      },
    );
    await expect(left.prepare([pay()])).rejects.toMatchObject({ retryable: true });
    await expect(left.balances(wallet, [usdt])).rejects.toMatchObject({ retryable: true });
    now += 60_000;
    expect(await left.prepare([pay()])).toEqual([honest]);
    expect((await left.balances(wallet, [usdt])).amounts.get(usdt)).toBeGreaterThan(0n);
    expect(new Set(singleSources)).toEqual(new Set([new URL(devnet.url).host]));
  });

  test('adds the energy factor of the contract and the margin to the fee limit', async () => {
    const intent = pay();
    const [plain] = await sender.prepare([intent]);
    const [careful] = await senderOf([devnet.url], { energyMarginPercent: 30 }).prepare([intent]);
    await devnet.control.setEnergyFactor(usdt, 34_000);
    const [dear] = await sender.prepare([intent]);
    await devnet.control.setEnergyFactor(usdt, 0);
    const limits = [plain, careful, dear].map((one) =>
      one?.kind === 'READY' ? Number(one.feeLimitBaseUnits) : Number.NaN,
    );
    expect(limits[1]! / limits[0]!).toBeCloseTo(1.3, 2);
    expect(limits[2]! / limits[0]!).toBeGreaterThan(4);
  });
});

describe('broadcast outcomes', () => {
  test('maps the answer of a node to an outcome', async () => {
    const { headTimeMs } = devnet.control.summary();
    const cases: [Partial<PaymentIntent>, Partial<Validity>, string][] = [
      [{}, { expiresMs: headTimeMs - 3_000 }, 'EXPIRED'],
      [{}, { expiresMs: headTimeMs + 25 * 3_600_000 }, 'EXPIRED'],
      [
        {},
        { reference: { height: 1, hash: `${'1'.padStart(16, '0')}${'f'.repeat(48)}` as BlockHash } },
        'REFERENCE_UNKNOWN',
      ],
      [{ contract: null, amountBaseUnits: baseUnits(10n ** 17n) }, {}, 'NO_FUNDS'],
      [{ contract: null, to: usdt as string as Address }, {}, 'REFUSED'],
    ];
    for (const [change, bounds, outcome] of cases) {
      const intent = pay(change);
      const signed = await sender.sign(
        intent,
        await validity(bounds),
        intent.contract === null ? 0n : 30_000_000n,
      );
      expect({ outcome: await sender.broadcast([signed]) }).toEqual({ outcome: [outcome] });
    }
  });

  test('returns UNKNOWN for a lost answer although the bytes may have arrived', async () => {
    devnet.control.fault({ kind: 'lose-broadcast-answer' });
    const signed = await sender.sign(pay(), await validity(), 30_000_000n);
    expect(await sender.broadcast([signed])).toEqual(['UNKNOWN']);
    devnet.control.clearFaults();
    expect(await sender.broadcast([signed])).toEqual(['KNOWN']);
    await devnet.control.mine();
  });
});

describe('balances', () => {
  test('returns amounts, the head before the reads and the allowance of stake', async () => {
    const { amounts, block, allowanceBaseUnits } = await sender.balances(wallet, [null, usdt]);
    expect(amounts.get(null)).toBeGreaterThan(99_000_000n * 1_000_000n);
    expect(amounts.get(usdt)).toBeGreaterThan(999_000_000n * 1_000_000n);
    expect(block.height).toBe(devnet.control.summary().head);
    expect(allowanceBaseUnits).toBe(0n);
    const none = randomAddress();
    const empty = await sender.balances(none, [null, usdt]);
    expect([...empty.amounts.values()]).toEqual([0n, 0n]);
  });

  test('returns the lower amounts of two nodes at the lower of their heads', async () => {
    const actual = await sender.balances(wallet, [null, usdt]);
    const rich = await changing((value) => {
      if (isList(value)) return value;
      if ('constant_result' in value) return { ...value, constant_result: ['f'.repeat(64)] };
      if ('TotalEnergyLimit' in value) return { ...value, EnergyLimit: 9_000_000 };
      return 'balance' in value ? { ...value, balance: 9_000_000_000_000_000 } : value;
    });
    expect((await senderOf([rich]).balances(wallet, [usdt])).amounts).not.toEqual(actual.amounts);
    for (const urls of [
      [rich, devnet.url],
      [devnet.url, rich],
    ])
      expect(await senderOf(urls).balances(wallet, [null, usdt])).toEqual(actual);
    const behind = await changing((value) => {
      const block = value as unknown as BlockWithHeader;
      if (block.block_header?.raw_data['number'] !== actual.block.height) return value;
      const number = actual.block.height - 1;
      return withHeader(block, { number, parentHash: heightDigits(number - 1) + 'a'.repeat(48) });
    });
    for (const urls of [
      [behind, devnet.url],
      [devnet.url, behind],
    ]) {
      const { block, amounts } = await senderOf(urls).balances(wallet, [null, usdt]);
      expect([block.height, amounts]).toEqual([actual.block.height - 1, actual.amounts]);
    }
  });
});

describe('energy of own stake', () => {
  const energyOf = async (address: Address) => (await sender.energy!.means(address)).workUnits;
  const send = async (intent: PaymentIntent): Promise<{ readonly fee: number; readonly cost: bigint }> => {
    const [prepared] = await sender.prepare([intent]);
    if (prepared?.kind !== 'READY') throw new Error(JSON.stringify(prepared));
    const signed = await sender.sign(intent, await validity(), prepared.feeLimitBaseUnits);
    expect(await sender.broadcast([signed])).toEqual(['ACCEPTED']);
    await devnet.control.mine();
    const { fee = 0 } = await infoOf(signed.txHash);
    return { fee, cost: prepared.costBaseUnits };
  };
  const LENT = 10_000n * 1_000_000n;
  const lend = (to: Address): PaymentIntent =>
    pay({ contract: null, to, amountBaseUnits: baseUnits(LENT), resource: 'LEND_ENERGY' });
  const takeBack = (to: Address): PaymentIntent => ({ ...lend(to), resource: 'TAKE_ENERGY_BACK' });

  test('delegates energy, which pays for a transfer, and undelegates it', async () => {
    const staker = devnet.accounts[5]!.address as Address;
    const of = (intent: PaymentIntent) => ({ ...intent, from: staker });
    await devnet.control.stake(staker, 15_000n * 1_000_000n);
    expect(await sender.energy!.delegable(staker)).toBe(15_000n * 1_000_000n);
    const { prices, stakeYield } = await sender.energy!.market(staker);
    expect(prices).toEqual({ perUnit: 100n, perByte: 1_000n, activation: 1_100_000n, freeBytesOfNew: 600n });
    const to = devnet.accounts[6]!.address as Address;
    const before = await energyOf(to);
    const lent = await send(of(lend(to)));
    expect(BigInt(lent.fee)).toBeLessThanOrEqual(lent.cost);
    const gained = (await energyOf(to)) - before;
    expect(gained).toBe((LENT * stakeYield.units) / stakeYield.stake);
    expect(await sender.energy!.lent(staker, to)).toBe(LENT);
    expect(await sender.energy!.delegable(staker)).toBe(5_000n * 1_000_000n);
    const swept = await send(pay({ from: to, to: devnet.accounts[2]!.address as Address }));
    expect(swept.fee).toBe(0);
    expect((await sender.balances(to, [null])).allowanceBaseUnits).toBeLessThan(gained * 100n);
    await send(of(takeBack(to)));
    expect(await sender.energy!.lent(staker, to)).toBe(0n);
    expect(await energyOf(to)).toBe(0n);
    // Used energy returns as used and cannot be delegated before it has recovered.
    const delegable = await sender.energy!.delegable(staker);
    expect(delegable).toBeLessThan(15_000n * 1_000_000n);
    expect(delegable).toBeGreaterThan(5_000n * 1_000_000n);
  });

  test('prepares no delegation of missing stake or to an unsuitable address', async () => {
    const inactive = randomAddress();
    const contract = usdt as string as Address;
    const other = devnet.accounts[7]!.address as Address;
    const answers = await sender.prepare([lend(inactive), lend(contract), lend(other), takeBack(other)]);
    expect(answers.map((one) => (one.kind === 'READY' ? 'READY' : one.detail))).toEqual([
      'energy cannot be delegated to an inactive address',
      'energy cannot be delegated to a contract',
      'only 0 sun of the stake can be delegated, not 10000000000',
      'only 0 sun are delegated there, not 10000000000',
    ]);
    expect(await sender.energy!.means(inactive)).toEqual({
      isActive: false,
      coinBaseUnits: 0n,
      workUnits: 0n,
      freeBytes: 0n,
    });
  });

  test('counts energy only if two sources report it', async () => {
    const staker = devnet.accounts[5]!.address as Address;
    const boaster = await changing((value) =>
      isList(value) || value['TotalEnergyLimit'] === undefined ? value : { ...value, EnergyLimit: 9_000_000 },
    );
    for (const urls of [
      [boaster, devnet.url],
      [devnet.url, boaster],
    ])
      expect((await senderOf(urls).energy!.means(staker)).workUnits).toBeLessThan(1_000_000n);
    expect((await senderOf([boaster]).energy!.means(staker)).workUnits).toBeGreaterThan(8_000_000n);
    const halfAway = senderOf([devnet.url, 'http://127.0.0.1:1']);
    await expect(halfAway.energy!.means(staker)).rejects.toMatchObject({ retryable: true });
  });
});

describe('findInBlocks', () => {
  async function sendOne(mined: boolean): Promise<{ txHash: TxHash; bounds: Validity }> {
    const bounds = await validity({ expiresMs: devnet.control.summary().headTimeMs + 9_000 });
    const signed = await sender.sign(pay(), bounds, 30_000_000n);
    if (mined) await sender.broadcast([signed]);
    return { txHash: signed.txHash, bounds };
  }
  const search = (by: ExpiringSender, { txHash, bounds }: { txHash: TxHash; bounds: Validity }) =>
    by.findInBlocks([txHash], { after: bounds.reference, untilMs: bounds.expiresMs });

  test('decides when two solid blocks are past the expiry, and not before', async () => {
    const [there, missing] = [await sendOne(true), await sendOne(false)];
    // Up to the block at the expiry and one more, which are not solid yet.
    await devnet.control.mine(4);
    await expect(search(sender, there)).rejects.toMatchObject({ code: 'BLOCK_NOT_FOUND' });
    await devnet.control.mine(2);
    await expect(search(sender, there)).rejects.toMatchObject({ code: 'BLOCK_NOT_FOUND' });
    await devnet.control.mine();
    expect([...(await search(sender, there)).found]).toEqual([there.txHash]);
    const { found, end } = await search(sender, missing);
    expect(found.size).toBe(0);
    expect(end[0].timeSeconds * 1_000).toBeGreaterThanOrEqual(missing.bounds.expiresMs);
    expect(end[1].parentHash).toBe(end[0].hash);
  });

  test('rejects a reference block that is not in the chain', async () => {
    const one = await sendOne(false);
    await devnet.control.mine(8);
    const { height } = one.bounds.reference;
    const reference = {
      height,
      hash: `${height.toString(16).padStart(16, '0')}${'a'.repeat(48)}` as BlockHash,
    };
    await expect(search(sender, { ...one, bounds: { ...one.bounds, reference } })).rejects.toMatchObject({
      code: 'INCONSISTENT_ANSWER',
    });
  });

  test('rejects a node that returns the block as an empty one', async () => {
    const one = await sendOne(true);
    await devnet.control.mine(8);
    const byzantine = await createByzantineTronProxy({
      upstreamUrl: devnet.url,
      seed: 1,
      faults: { emptyBlock: 1 },
    });
    await expect(search(senderOf([byzantine.url]), one)).rejects.toMatchObject({
      code: 'INCONSISTENT_ANSWER',
    });
    expect(byzantine.injected.emptyBlock).toBeGreaterThan(0);
    byzantine.setFaults({});
    expect([...(await search(senderOf([byzantine.url]), one)).found]).toEqual([one.txHash]);
    await byzantine.close();
  });

  test('rejects a single node that omits the transaction, with or without its receipt', async () => {
    const one = await sendOne(true);
    await devnet.control.mine(8);
    const byzantine = await leavingOut(one.txHash, { receipts: true });
    const clumsy = await leavingOut(one.txHash, { receipts: false });
    await expect(search(senderOf([byzantine, devnet.url]), one)).rejects.toMatchObject({
      code: 'INCONSISTENT_ANSWER',
    });
    await expect(search(senderOf([devnet.url, byzantine]), one)).rejects.toMatchObject({
      code: 'INCONSISTENT_ANSWER',
    });
    await expect(search(senderOf([clumsy]), one)).rejects.toMatchObject({ code: 'INCONSISTENT_ANSWER' });
    // If two are configured, a single one is never accepted, however long the other is away.
    const away = senderOf([devnet.url, 'http://127.0.0.1:1']);
    await expect(search(away, one)).rejects.toMatchObject({ retryable: true });
    expect([...(await search(senderOf([devnet.url]), one)).found]).toEqual([one.txHash]);
  });
});

test('readPayment reads a payment of this gateway and ignores other transactions', async () => {
  const intent = pay();
  const bounds = await validity();
  const signed = await sender.sign(intent, bounds, 30_000_000n);
  await sender.broadcast([signed]);
  const reader = (txHash: TxHash) => sender.readPayment(txHash, { height: devnet.control.summary().solid });
  expect(await reader(signed.txHash)).toBeUndefined();
  await devnet.control.mine(5);
  const found = await reader(signed.txHash);
  expect(found).toMatchObject({ intent, feeLimitBaseUnits: 30_000_000n });
  expect(found?.validity).toMatchObject({ expiresMs: bounds.expiresMs, uniqueMs: bounds.uniqueMs });
  expect(found?.fate).toMatchObject({ succeeded: true, deliveredBaseUnits: 5_000_000n });
  expect(await reader('ab'.repeat(32) as TxHash)).toBeUndefined();
});

test('learns every hour which keys sign blocks and returns those that do not count', async () => {
  const clock = { nowMs: 0 };
  let asked = 0;
  /** Other keys sign this node's blocks. */
  const delegating = () =>
    changing((value) => {
      const block = value as { block_header?: { witness_signature?: string } };
      const { block_header: header } = block;
      if (header?.witness_signature === undefined) return value;
      asked += 1;
      const signature = Buffer.from(header.witness_signature, 'hex');
      signature[64]! ^= 1;
      return { ...block, block_header: { ...header, witness_signature: signature.toString('hex') } };
    });
  const two = [await delegating(), await delegating()];
  const learning = senderOf(
    two,
    {},
    { witnessKeyStore: createMemoryStore(), nowMs: () => clock.nowMs, epochMs: () => clock.nowMs },
  );
  const look = async (afterMs: number) => {
    clock.nowMs += afterMs;
    asked = 0;
    return { keys: (await learning.blockKeys!.newBlockKeys()).length > 0, asks: asked > 0 };
  };
  expect(await look(0)).toEqual({ keys: true, asks: true });
  expect(await look(3_599_000)).toEqual({ keys: true, asks: false });
  expect(await look(1_000)).toEqual({ keys: true, asks: true });
  expect(await look(23 * 3_600_000)).toEqual({ keys: false, asks: true });
});

/** Omits this transaction from its blocks, and optionally its receipt. */
function leavingOut(txHash: string, { receipts }: { readonly receipts: boolean }): Promise<string> {
  return changing((value) => {
    if (isList(value))
      return receipts ? (value as { id: string }[]).filter(({ id }) => id !== txHash) : value;
    const { transactions } = value as { transactions?: { txID: string }[] };
    if (transactions === undefined) return value;
    return { ...value, transactions: transactions.filter(({ txID }) => txID !== txHash) };
  });
}

type Answer = Readonly<Record<string, unknown>> | readonly unknown[];
function isList(value: Answer): value is readonly unknown[] {
  return Array.isArray(value);
}

function answering(instead: object): Promise<string> {
  return changing((value) =>
    isList(value) || !('constant_result' in value)
      ? value
      : { ...value, result: { result: true }, transaction: undefined, logs: undefined, ...instead },
  );
}

async function changing(change: (value: Answer) => unknown): Promise<string> {
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const answer = await fetch(`${devnet.url}${request.url ?? ''}`, {
        method: 'POST',
        body: Buffer.concat(chunks).toString(),
      });
      return change((await answer.json()) as Answer);
    })().then(
      (value) => response.end(JSON.stringify(value)),
      () => response.destroy(),
    );
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
