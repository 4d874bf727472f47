import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { Transfer } from '@opentill/chain/transfer';
import { startAnvil, type Anvil } from '@opentill/devnets/evm/anvil';
import type { ContractName } from '@opentill/devnets/evm/contract-artifacts';
import { contractInterface, creationCode } from '@opentill/devnets/evm/contract-artifacts';
import { devAccount } from '@opentill/devnets/evm/accounts';
import {
  callContract,
  deployContract,
  deployDevTokens,
  payNative,
} from '@opentill/devnets/evm/start-evm-devnet';
import { sendTransaction, waitForReceipt } from '@opentill/devnets/evm/transactions';
import { findFreePort } from '@opentill/test-servers/free-port';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { anEvmAddress } from '@opentill/testkit/scenario';
import type { EvmNetwork, EvmReaderDeps } from '../src/reader.ts';
import { createPatientReader } from './patient-reader.ts';

/*
 * Properties of real tokens, each by a contract that has them. Every transaction is mined in its own block. All ways of
 * reading a block must agree: the seen pass, the verified pass with two sources (two names of one node) and with one
 * (by receipts), each with and without bloom.
 */

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
/** EIP-7708: a chain logs movements of its own coin here. */
const SYSTEM_ADDRESS = '0xfffffffffffffffffffffffffffffffffffffffe';
const OWNER = devAccount(0);
const PAYER = devAccount(1);
const USDT_UNIT = 10n ** 18n;
const USDC_UNIT = 10n ** 6n;

type Contract = 'USDT' | 'USDC' | 'OLD' | 'ODD';

let dir: string;
let anvil: Anvil;
let at: Record<Contract | 'FAKE' | 'BATCH', string>;
let readers: readonly ChainReader[];
const outcomes = new Set<string>();
const deps: EvmReaderDeps = { onCompared: ({ outcome }) => outcomes.add(outcome) };

const KIND: Record<Contract | 'FAKE' | 'BATCH', ContractName> = {
  USDT: 'TetherLike',
  USDC: 'UsdcLike',
  OLD: 'TetherLike',
  ODD: 'FakeToken',
  FAKE: 'FakeToken',
  BATCH: 'TransferBatch',
};

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'chain-evm-'));
  anvil = await startAnvil({ dir, port: await findFreePort(), chainId: 97 });
  const { rpcUrl } = anvil;
  const tokens = await deployDevTokens({ rpcUrl, usdtDecimals: 18, usdcDecimals: 6 });
  const deploy = (contract: ContractName, ...constructorArguments: unknown[]): Promise<string> =>
    deployContract({ rpcUrl, fromKey: OWNER.privateKey, contract, constructorArguments });
  at = {
    ...tokens,
    OLD: await deploy('TetherLike', 6, 'Old dollar', 'OLD', 10n ** 15n),
    ODD: await deploy('FakeToken', 6, 'Odd dollar', 'ODD'),
    FAKE: await deploy('FakeToken', 18, 'Tether USD', 'USDT'),
    BATCH: await deploy('TransferBatch'),
  };
  const network = networkOf(rpcUrl, at);
  const two = [rpcUrl, rpcUrl.replace('127.0.0.1', 'localhost')];
  readers = [
    createPatientReader({ ...network, rpcUrls: two }, deps),
    createPatientReader(network),
    createPatientReader({ ...network, rpcUrls: two, bloom: false }, deps),
    createPatientReader({ ...network, bloom: false }),
  ];
  await Promise.all(readers.map((reader) => reader.checkNetwork()));
});
afterAll(async () => {
  expect([...outcomes]).toEqual(['AGREED']);
  await anvil.stop('kill');
  await rm(dir, { recursive: true });
});

function networkOf(rpcUrl: string, contracts: Record<Contract, string>): EvmNetwork {
  const token = (symbol: Contract, decimals: number): EvmNetwork['tokens'][number] => ({
    symbol,
    contract: contracts[symbol],
    decimals,
    displayDecimals: 2,
    minAmount: null,
    maxAmount: null,
  });
  return {
    chain: 'BSC_TEST',
    chainId: 97,
    rpcUrls: [rpcUrl],
    bloom: true,
    blockTimeMs: 450,
    maxBlockRange: 500,
    tokens: [token('USDT', 18), token('USDC', 6), token('OLD', 6), token('ODD', 6)],
  };
}

const newAddress = (): Address => anEvmAddress() as Address;
const payee = (account: number): Address => devAccount(account).address.toLowerCase() as Address;

interface Found {
  readonly status: '0x1' | '0x0';
  readonly txHash: string;
  /** Each is `from → to amount CONTRACT position`, with the contract names of this file. */
  readonly lines: readonly string[];
  readonly transfers: readonly Transfer[];
}

async function call(
  contract: Contract | 'FAKE' | 'BATCH',
  method: string,
  methodArguments: readonly unknown[],
  options: { readonly from?: { readonly privateKey: string }; readonly valueWei?: bigint } = {},
): Promise<Found> {
  const txHash = await callContract({
    rpcUrl: anvil.rpcUrl,
    fromKey: (options.from ?? PAYER).privateKey,
    contract: KIND[contract],
    address: at[contract],
    method,
    methodArguments,
    ...(options.valueWei === undefined ? {} : { valueWei: options.valueWei }),
  });
  return read(txHash, readers);
}

async function read(txHash: string, by: readonly ChainReader[]): Promise<Found> {
  const { blockNumber, status } = await waitForReceipt(anvil.rpcUrl, txHash);
  const height = Number(blockNumber);
  const readings = await Promise.all(
    by.map(async (reader) => {
      const seen = await reader.readSeen(height, height);
      const verified = await reader.readVerified(height, height, []);
      const proven = await reader.confirmTransfers(verified.transfers);
      expect(proven.refuted).toEqual([]);
      expect(await reader.confirmTransfers(seen.transfers)).toEqual(proven);
      return proven.confirmed;
    }),
  );
  const [transfers, ...others] = readings;
  for (const other of others) expect(other).toEqual(transfers);
  return { status, txHash, transfers: transfers!, lines: transfers!.map(lineOf) };
}

function lineOf(transfer: Transfer): string {
  const names = Object.entries(at).map(([name, address]) => [address.toLowerCase(), name] as const);
  const name = new Map(names).get(transfer.contract ?? '') ?? 'coin';
  return `${transfer.from} → ${transfer.to} ${transfer.amountBaseUnits} ${name} ${transfer.position}`;
}

const payer = PAYER.address.toLowerCase();
const owner = OWNER.address.toLowerCase();

describe('token payments', () => {
  it('finds a payment of a token without return value (USDT)', async () => {
    const to = newAddress();
    expect((await call('USDT', 'transfer', [to, 5n * USDT_UNIT])).lines).toEqual([
      `${payer} → ${to} ${5n * USDT_UNIT} USDT log:0`,
    ]);
  });

  it('keeps all decimals of a token, 18 or 6', async () => {
    const to = newAddress();
    expect((await call('USDT', 'transfer', [to, 1_000_000_000_000_000_001n])).lines).toEqual([
      `${payer} → ${to} 1000000000000000001 USDT log:0`,
    ]);
    expect((await call('USDC', 'transfer', [to, 1_000_001n])).lines).toEqual([
      `${payer} → ${to} 1000001 USDC log:0`,
    ]);
  });

  it('finds the arrived amount and the fee of a fee-on-transfer token', async () => {
    const to = newAddress();
    await call('USDT', 'setParams', [10, 40], { from: OWNER });
    try {
      expect((await call('USDT', 'transfer', [to, 1_000n * USDT_UNIT])).lines).toEqual([
        `${payer} → ${owner} ${USDT_UNIT} USDT log:0`,
        `${payer} → ${to} ${999n * USDT_UNIT} USDT log:1`,
      ]);
    } finally {
      await call('USDT', 'setParams', [0, 0], { from: OWNER });
    }
  });

  it.each(['USDT', 'USDC'] as const)('finds no payment while the token is paused (%s)', async (token) => {
    await call(token, 'pause', [], { from: OWNER });
    const paid = await call(token, 'transfer', [newAddress(), 1n]);
    await call(token, 'unpause', [], { from: OWNER });
    expect(paid).toMatchObject({ status: '0x0', lines: [] });
  });

  it('finds no payment from a blacklisted sender (USDT, USDC)', async () => {
    const thief = devAccount(3);
    for (const [token, list] of [
      ['USDT', 'addBlackList'],
      ['USDC', 'blacklist'],
    ] as const) {
      await call(token, list, [thief.address], { from: OWNER });
      const paid = await call(token, 'transfer', [newAddress(), 1n], { from: thief });
      expect(paid).toMatchObject({ status: '0x0', lines: [] });
    }
  });

  it('finds a payment to a blacklisted recipient with USDT, not with USDC', async () => {
    const [usdc, usdt] = [newAddress(), newAddress()];
    await call('USDC', 'blacklist', [usdc], { from: OWNER });
    await call('USDT', 'addBlackList', [usdt], { from: OWNER });
    expect(await call('USDC', 'transfer', [usdc, 1n])).toMatchObject({ status: '0x0', lines: [] });
    expect((await call('USDT', 'transfer', [usdt, 1n])).lines).toEqual([`${payer} → ${usdt} 1 USDT log:0`]);
  });

  it('ignores the events of a deprecated token’s successor', async () => {
    const { rpcUrl } = anvil;
    const to = newAddress();
    expect((await call('OLD', 'transfer', [payee(4), 100n], { from: OWNER })).lines).toHaveLength(1);
    const next = await deployContract({
      rpcUrl,
      fromKey: OWNER.privateKey,
      contract: 'UpgradedTether',
      constructorArguments: [at.OLD, OWNER.address, 10n ** 15n],
    });
    await call('OLD', 'deprecate', [next], { from: OWNER });
    const paid = await call('OLD', 'transfer', [to, 7n], { from: OWNER });
    const { logs, status } = await waitForReceipt(rpcUrl, paid.txHash);
    expect(status).toBe('0x1');
    expect(logs.map((log) => log.address.toLowerCase())).toEqual([next.toLowerCase()]);
    expect(paid.lines).toEqual([]);
  });

  it('finds no payment in issue, redeem and destroyBlackFunds', async () => {
    const victim = newAddress();
    expect((await call('USDT', 'transfer', [victim, 9n])).lines).toHaveLength(1);
    await call('USDT', 'addBlackList', [victim], { from: OWNER });
    for (const [method, argument] of [
      ['issue', 5n],
      ['redeem', 5n],
      ['destroyBlackFunds', victim],
    ] as const) {
      const done = await call('USDT', method, [argument], { from: OWNER });
      expect({ method, status: done.status, lines: done.lines }).toEqual({
        method,
        status: '0x1',
        lines: [],
      });
    }
  });

  it('ignores a fake token with a configured symbol', async () => {
    const paid = await call('FAKE', 'emitTransfer', [payer, newAddress(), 10n ** 24n]);
    expect(paid).toMatchObject({ status: '0x1', lines: [] });
  });

  it('finds minted tokens as a transfer from the zero address', async () => {
    const to = newAddress();
    expect((await call('USDC', 'mint', [to, 3n * USDC_UNIT], { from: OWNER })).lines).toEqual([
      `${ZERO_ADDRESS} → ${to} 3000000 USDC log:1`,
    ]);
  });
});

describe('transfers', () => {
  it('ignores transfers of zero, also with transferFrom', async () => {
    const to = newAddress();
    expect(await call('USDC', 'transfer', [to, 0n])).toMatchObject({ status: '0x1', lines: [] });
    const poison = await call('USDT', 'transferFrom', [payee(2), to, 0n]);
    expect(poison).toMatchObject({ status: '0x1', lines: [] });
    expect((await waitForReceipt(anvil.rpcUrl, poison.txHash)).logs).toHaveLength(1);
  });

  it('finds a transfer of an address to itself', async () => {
    expect((await call('USDC', 'transfer', [PAYER.address, 2n])).lines).toEqual([
      `${payer} → ${payer} 2 USDC log:0`,
    ]);
  });

  it('finds several transfers of a transaction, to the same and other addresses', async () => {
    const [a, b] = [newAddress(), newAddress()];
    const batch = at.BATCH.toLowerCase();
    await call('USDT', 'transfer', [at.BATCH, 100n]);
    await call('USDC', 'transfer', [at.BATCH, 100n]);
    const items = [
      [at.USDT, a, 1n],
      [at.USDT, a, 1n],
      [at.USDC, b, 3n],
      [at.USDC, a, 4n],
    ];
    expect((await call('BATCH', 'send', [items])).lines).toEqual([
      `${batch} → ${a} 1 USDT log:0`,
      `${batch} → ${a} 1 USDT log:1`,
      `${batch} → ${b} 3 USDC log:2`,
      `${batch} → ${a} 4 USDC log:3`,
    ]);
  });

  it('ignores a reverted transfer, within its transaction or with it', async () => {
    const items = [[at.USDT, newAddress(), 1n]];
    expect(await call('BATCH', 'sendThenRevert', [items])).toMatchObject({ status: '0x0', lines: [] });
    expect(await call('BATCH', 'sendAndRevertInside', [items])).toMatchObject({ status: '0x1', lines: [] });
  });

  it.each<[string, string, (to: string) => readonly unknown[]]>([
    ['4 topics (an NFT)', 'emitNftTransfer', (to) => [payer, to, 7n]],
    ['empty data', 'emitTransferWithoutData', (to) => [payer, to]],
    ['no indexed topics', 'emitUnindexedTransfer', (to) => [payer, to, 7n]],
    ['half a word', 'emitTransferWithData', (to) => [payer, to, `0x${'00'.repeat(15)}07`]],
    ['two words', 'emitTransferWithData', (to) => [payer, to, `0x${'00'.repeat(63)}07`]],
  ])('ignores a log of a configured token with %s', async (_, method, methodArguments) => {
    const emitted = await call('ODD', method, methodArguments(newAddress()));
    expect(emitted).toMatchObject({ status: '0x1', lines: [] });
    expect((await waitForReceipt(anvil.rpcUrl, emitted.txHash)).logs).toHaveLength(1);
  });

  it('finds the largest amount exactly', async () => {
    const to = newAddress();
    const [line] = (await call('ODD', 'emitTransfer', [payer, to, 2n ** 256n - 1n])).lines;
    expect(line).toBe(`${payer} → ${to} ${2n ** 256n - 1n} ODD log:0`);
  });

  it('ignores transfers logged by the system address (EIP-7708)', async () => {
    const code = await callRpc(anvil.rpcUrl, 'eth_getCode', [at.FAKE, 'latest']);
    await callRpc(anvil.rpcUrl, 'anvil_setCode', [SYSTEM_ADDRESS, code]);
    const txHash = await callContract({
      rpcUrl: anvil.rpcUrl,
      fromKey: PAYER.privateKey,
      contract: 'FakeToken',
      address: SYSTEM_ADDRESS,
      method: 'emitTransfer',
      methodArguments: [payer, newAddress(), USDT_UNIT],
    });
    expect((await waitForReceipt(anvil.rpcUrl, txHash)).logs[0]?.address.toLowerCase()).toBe(SYSTEM_ADDRESS);
    expect((await read(txHash, readers)).lines).toEqual([]);
    expect(() => createPatientReader(networkOf(anvil.rpcUrl, { ...at, ODD: SYSTEM_ADDRESS }))).toThrow(
      TypeError,
    );
  });
});

describe('the native coin', () => {
  const WEI = 10n ** 15n;
  let natives: readonly ChainReader[];
  beforeAll(() => {
    const network = networkOf(anvil.rpcUrl, at);
    const coin = { ...network.tokens[0]!, symbol: 'BNB', contract: null };
    const withCoin = { ...network, tokens: [...network.tokens, coin] };
    const two = [anvil.rpcUrl, anvil.rpcUrl.replace('127.0.0.1', 'localhost')];
    natives = [
      createPatientReader({ ...withCoin, rpcUrls: two }, deps),
      createPatientReader(withCoin),
      createPatientReader({ ...withCoin, rpcUrls: two, bloom: false }, deps),
      createPatientReader({ ...withCoin, bloom: false }),
      createPatientReader({ ...withCoin, tokens: [coin] }),
    ];
  });
  const pay = (to: string, amountWei: bigint): Promise<string> =>
    payNative({ rpcUrl: anvil.rpcUrl, fromKey: PAYER.privateKey, to, amountWei });
  const send = (to: string | null, data: string, valueWei: bigint): Promise<string> =>
    sendTransaction({
      rpcUrl: anvil.rpcUrl,
      fromKey: PAYER.privateKey,
      to,
      data,
      valueWei,
      gasLimit: 3_000_000n,
    });

  it('proves native coin of a transaction by receipt and value', async () => {
    const to = newAddress();
    const found = await read(await pay(to, WEI + 1n), natives);
    expect(found.lines).toEqual([`${payer} → ${to} ${WEI + 1n} coin value`]);
    expect(found.transfers[0]).toMatchObject({ contract: null, feeBaseUnits: expect.any(BigInt) });
    expect(found.transfers[0]!.feeBaseUnits).toBeGreaterThanOrEqual(21_000n);
  });

  it('ignores native coin where it is not configured', async () => {
    expect((await read(await pay(newAddress(), WEI), readers)).lines).toEqual([]);
  });

  it('finds native coin next to the tokens of the same transaction', async () => {
    const to = newAddress();
    await call('USDC', 'transfer', [at.BATCH, 5n]);
    const data = contractInterface('TransferBatch').encodeFunctionData('send', [[[at.USDC, to, 5n]]]);
    expect((await read(await send(at.BATCH, data, WEI), natives.slice(0, 4))).lines).toEqual([
      `${at.BATCH.toLowerCase()} → ${to} 5 USDC log:0`,
      `${payer} → ${at.BATCH.toLowerCase()} ${WEI} coin value`,
    ]);
  });

  it('ignores native coin of zero, of a failed transaction, or to a new contract', async () => {
    expect((await read(await pay(newAddress(), 0n), natives)).lines).toEqual([]);
    const items = [[ZERO_ADDRESS, newAddress(), 1n]];
    const revert = contractInterface('TransferBatch').encodeFunctionData('sendThenRevert', [items]);
    expect(await read(await send(at.BATCH, revert, WEI), natives)).toMatchObject({
      status: '0x0',
      lines: [],
    });
    const created = await read(await send(null, creationCode('TransferBatch', []), 0n), natives);
    expect(created).toMatchObject({ status: '0x1', lines: [] });
    // STOP as the whole creation code makes an empty contract that may receive coin.
    expect(await read(await send(null, '0x00', WEI), natives)).toMatchObject({ status: '0x1', lines: [] });
  });

  it('does not see native coin that a contract forwards, a documented limit', async () => {
    const to = newAddress();
    const data = contractInterface('TransferBatch').encodeFunctionData('send', [[[ZERO_ADDRESS, to, WEI]]]);
    const { lines } = await read(await send(at.BATCH, data, WEI), natives);
    expect(BigInt(await callRpc<string>(anvil.rpcUrl, 'eth_getBalance', [to, 'latest']))).toBe(WEI);
    expect(lines).toEqual([`${payer} → ${at.BATCH.toLowerCase()} ${WEI} coin value`]);
  });

  it('refutes native coin when value or recipient differ', async () => {
    const found = await read(await pay(newAddress(), WEI), natives);
    const [real] = found.transfers;
    const wrong = [
      { ...real!, to: newAddress() },
      { ...real!, amountBaseUnits: (WEI + 1n) as Transfer['amountBaseUnits'] },
      { ...real!, indexInBlock: real!.indexInBlock + 1 },
    ];
    const { confirmed, refuted } = await natives[0]!.confirmTransfers([...wrong, real!]);
    expect(refuted).toEqual(wrong);
    expect(confirmed).toEqual([real]);
  });
});
