import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { Database } from '@opentill/db/database';
import { contractInterface } from '@opentill/devnets/evm/contract-artifacts';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { callContract, deployContract, reorg } from '@opentill/devnets/evm/start-evm-devnet';
import { signTransaction } from '@opentill/devnets/evm/transactions';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { createByzantineRpcProxy, type ByzantineRpcOptions } from '@opentill/testkit/byzantine-rpc-proxy';
import { aHotWalletAddress, anOwnTransaction } from '@opentill/testkit/payout-scenario';
import { anEvmAddress, aPayout } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { CHAIN, createScannerWorld, type Replica, type ScannerWorld } from './scanner-harness.ts';

/* Each transaction is stored before it is sent, like the signer does. The crediting depth is 3. */

const OWNER = devAccount(0);
const HOT = devAccount(3);
const hotAddress = HOT.address.toLowerCase();

let world: ScannerWorld;
let signer: Database;
let replica: Replica;
/** Its transfer returns true without moving tokens. */
let odd: string;

beforeAll(async () => {
  world = await createScannerWorld();
  signer = world.database.open('signer');
  const { rpcUrl } = world.anvil;
  const deploying = deployContract({
    rpcUrl,
    fromKey: OWNER.privateKey,
    contract: 'FakeToken',
    constructorArguments: [6, 'Odd', 'ODD'],
  });
  await waitUntil('the creation waits for a block', async () => {
    const pool = await callRpc<{ pending: string }>(rpcUrl, 'txpool_status', []);
    return Number(pool.pending) === 1;
  });
  await world.mine();
  odd = (await deploying).toLowerCase();
  await aHotWalletAddress(world.admin.kysely, { family: 'EVM', address: hotAddress });
  replica = await world.startReplica();
  await world.caughtUp();
});
afterAll(async () => {
  await signer.close();
  await world.close();
});

interface Payout {
  readonly txHash: string;
  readonly raw: string;
}

const transferCall = (to: string, amount: bigint): string =>
  contractInterface('UsdcLike').encodeFunctionData('transfer', [to, amount]);

/** From the hot wallet; a null `token` pays native coin. */
async function sign(
  options: { readonly token?: string | null; readonly to?: string; readonly amount?: bigint } = {},
): Promise<Payout> {
  const { token = world.usdt, to = anEvmAddress(), amount = 1_000_000n } = options;
  const { rpcUrl } = world.anvil;
  const call =
    token === null ? { to, valueWei: amount } : { to: token, data: transferCall(to, amount), valueWei: 0n };
  const raw = await signTransaction({ rpcUrl, fromKey: HOT.privateKey, ...call });
  const txHash = await callRpc<string>(rpcUrl, 'web3_sha3', [raw]);
  const order = await aPayout(world.admin.kysely, {
    chain: CHAIN,
    address: to,
    contract_address: token?.toLowerCase() ?? null,
    amount,
    source_address: hotAddress,
  });
  await anOwnTransaction(signer.kysely, order, { tx_hash: txHash, raw: Buffer.from(raw.slice(2), 'hex') });
  return { txHash, raw };
}

async function send({ raw }: Pick<Payout, 'raw'>): Promise<void> {
  await callRpc(world.anvil.rpcUrl, 'eth_sendRawTransaction', [raw]);
}

async function signAndSend(options: Parameters<typeof sign>[0] = {}): Promise<Payout> {
  const payout = await sign(options);
  await send(payout);
  return payout;
}

/** `MINED`, `VERIFIED delivered 5`, `VERIFIED failed`; undefined without a record. */
async function fateOf({ txHash }: Payout): Promise<string | undefined> {
  const { rows } = await sql<{ fate: string }>`
    select concat_ws(' ', state, case when succeeded then 'delivered ' || delivered else 'failed' end) as fate
    from own_transaction_fate where tx_hash = ${txHash}`.execute(world.admin.kysely);
  return rows[0]?.fate;
}

async function mineAndFollow(blocks = 1): Promise<void> {
  await world.mine(blocks);
  await world.caughtUp();
}

async function expectAsOnChain({ txHash }: Payout): Promise<void> {
  const receipt = await callRpc<Record<string, string>>(world.anvil.rpcUrl, 'eth_getTransactionReceipt', [
    txHash,
  ]);
  const block = await callRpc<Record<string, string>>(world.anvil.rpcUrl, 'eth_getBlockByHash', [
    receipt['blockHash'],
    false,
  ]);
  const { rows } = await sql<Record<string, unknown>>`
    select block_height as height, block_hash as hash, network_fee::text as fee, succeeded,
      extract(epoch from block_time)::int8 as time
    from own_transaction_fate where tx_hash = ${txHash}`.execute(world.admin.kysely);
  expect(rows).toEqual([
    {
      height: Number(receipt['blockNumber']),
      hash: receipt['blockHash'],
      fee: (BigInt(receipt['gasUsed']!) * BigInt(receipt['effectiveGasPrice']!)).toString(),
      succeeded: receipt['status'] === '0x1',
      time: Number(block['timestamp']),
    },
  ]);
}

async function configureUsdt(method: string, ...methodArguments: unknown[]): Promise<void> {
  const { rpcUrl } = world.anvil;
  const fromKey = OWNER.privateKey;
  await callContract({
    rpcUrl,
    fromKey,
    contract: 'TetherLike',
    address: world.usdt,
    method,
    methodArguments,
  });
  await mineAndFollow();
}

describe('own transaction', () => {
  it('follows an own transaction from its block to its depth, with events', async () => {
    await world.takeEvents('fate.changed');
    const payout = await sign();
    await mineAndFollow();
    expect(await fateOf(payout)).toBeUndefined();
    await send(payout);
    await mineAndFollow();
    expect(await fateOf(payout)).toBe('MINED delivered 1000000');
    await mineAndFollow(2);
    expect(await fateOf(payout)).toBe('VERIFIED delivered 1000000');
    await expectAsOnChain(payout);
    const events: unknown[] = [];
    await waitUntil('both events arrived', async () => {
      for (const { data } of await world.takeEvents('fate.changed')) events.push(data);
      return events.length >= 2;
    });
    const event = { chain: CHAIN, txHashes: [payout.txHash] };
    expect(events).toEqual([event, event]);
  });

  it('records failed, silent, native, rejected and short transactions', async () => {
    const reverted = await signAndSend({ amount: 10n ** 30n });
    await world.mine();
    const silent = await signAndSend({ token: odd });
    await world.mine();
    const native = await signAndSend({ token: null, amount: 5n });
    await world.mine();
    const refused = await signAndSend({ token: null, to: world.usdt.toLowerCase(), amount: 5n });
    await configureUsdt('setParams', 10, 49);
    const short = await signAndSend();
    await world.mine();
    await configureUsdt('setParams', 0, 0);
    await mineAndFollow(3);
    expect(await Promise.all([reverted, silent, native, refused, short].map(fateOf))).toEqual([
      'VERIFIED failed',
      'VERIFIED delivered 0',
      'VERIFIED delivered 5',
      'VERIFIED failed',
      'VERIFIED delivered 999000',
    ]);
    for (const payout of [reverted, silent, native, refused, short]) await expectAsOnChain(payout);
  });

  it('excludes own transactions from deposits and records a hot wallet top-up', async () => {
    const deposit = await world.newDepositAddress();
    const payout = await signAndSend({ to: deposit, amount: 7n });
    const customers = await world.pay(deposit, 8n);
    const topUp = await world.pay(HOT.address, 9n);
    await mineAndFollow(3);
    expect(await fateOf(payout)).toBe('VERIFIED delivered 7');
    const recorded = await world.recorded('VERIFIED');
    expect(recorded.map(({ tx, amount }) => `${tx} ${amount}`).toSorted()).toEqual(
      [`${customers} 8`, `${topUp} 9`].toSorted(),
    );
  });

  it('finds an own transaction after a long absence of the scanner', async () => {
    await replica.stop();
    const payout = await signAndSend();
    await world.mine(70); // more than the window of stored blocks
    replica = await world.startReplica();
    await world.caughtUp();
    expect(await fateOf(payout)).toBe('VERIFIED delivered 1000000');
    await expectAsOnChain(payout);
  });
});

describe('reorganisation of own transactions', () => {
  const rearrange = async (depth: number, ...blocks: readonly (readonly string[])[]): Promise<void> => {
    const replacements = blocks.flatMap((raws, blockOffset) =>
      raws.map((rawTransaction) => ({ rawTransaction, blockOffset })),
    );
    await reorg({ rpcUrl: world.anvil.rpcUrl, depth, replacements });
    await world.caughtUp();
  };

  it('follows an own transaction to another block and verifies it there', async () => {
    const payout = await signAndSend();
    await mineAndFollow(2);
    await rearrange(2, [], [payout.raw]);
    expect(await fateOf(payout)).toBe('MINED delivered 1000000');
    await expectAsOnChain(payout);
    await mineAndFollow(2);
    expect(await fateOf(payout)).toBe('VERIFIED delivered 1000000');
  });

  it('records an own transaction as failed when it is mined again and reverts', async () => {
    const { rpcUrl } = world.anvil;
    const data = contractInterface('TetherLike').encodeFunctionData('addBlackList', [HOT.address]);
    const blackList = await signTransaction({ rpcUrl, fromKey: OWNER.privateKey, to: world.usdt, data });
    const payout = await signAndSend();
    await mineAndFollow(2);
    expect(await fateOf(payout)).toBe('MINED delivered 1000000');
    await rearrange(2, [blackList], [payout.raw]);
    expect(await fateOf(payout)).toBe('MINED failed');
    await mineAndFollow(2);
    expect(await fateOf(payout)).toBe('VERIFIED failed');
    await expectAsOnChain(payout);
    await configureUsdt('removeBlackList', HOT.address);
  });

  it('orphans an own transaction and records it when it is sent again', async () => {
    const payout = await signAndSend();
    await mineAndFollow();
    await rearrange(1, []);
    expect(await fateOf(payout)).toMatch(/^ORPHANED/);
    await mineAndFollow(4);
    expect(await fateOf(payout)).toMatch(/^ORPHANED/);
    await send(payout);
    await mineAndFollow(3);
    expect(await fateOf(payout)).toBe('VERIFIED delivered 1000000');
    await expectAsOnChain(payout);
  });

  it('orphans and restores a verified transaction at a deep reorganisation', async () => {
    const payout = await signAndSend();
    await mineAndFollow(5);
    expect(await fateOf(payout)).toBe('VERIFIED delivered 1000000');
    await rearrange(5);
    expect(await fateOf(payout)).toMatch(/^ORPHANED/);
    await send(payout);
    await mineAndFollow(5);
    expect(await fateOf(payout)).toBe('VERIFIED delivered 1000000');
    await rearrange(5, [], [payout.raw]);
    await mineAndFollow(3);
    expect(await fateOf(payout)).toBe('VERIFIED delivered 1000000');
    await expectAsOnChain(payout);
  });
});

describe('two sources, one with wrong receipts', () => {
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    await replica.stop();
    for (const close of closers.splice(0)) await close();
    replica = await world.startReplica();
    await world.caughtUp();
  });

  type Receipt = Readonly<Record<string, unknown>> | null;

  /** The real node, and one that changes a transaction's receipt until events otherwise. */
  async function scanWithWrongReceipt(
    place: 'first' | 'second',
    txHash: string,
    falsify: (receipt: Receipt) => unknown,
  ): Promise<{ stopFalsifying(): void }> {
    let isWrong = true;
    const override: NonNullable<ByzantineRpcOptions['override']> = async ({ method, params }, honest) => {
      if (!isWrong || method !== 'eth_getTransactionReceipt' || params[0] !== txHash) return undefined;
      return { result: falsify((await honest({ method, params })) as Receipt) };
    };
    const proxy = await createByzantineRpcProxy({ upstreamUrl: world.anvil.rpcUrl, seed: 1, override });
    closers.push(() => proxy.close());
    await replica.stop();
    const { rpcUrl } = world.anvil;
    const rpcUrls = place === 'first' ? [proxy.url, rpcUrl] : [rpcUrl, proxy.url];
    replica = await world.startReplica({ rpcUrls });
    await world.caughtUp();
    return {
      stopFalsifying() {
        isWrong = false;
      },
    };
  }

  const noLogs = { logs: [], logsBloom: `0x${'0'.repeat(512)}` };
  it.each<['first' | 'second', string, (receipt: Receipt) => unknown]>([
    ['second', 'withholds the receipt', () => null],
    ['second', 'reports a failure', (receipt) => receipt && { ...receipt, ...noLogs, status: '0x0' }],
    ['first', 'omits the log', (receipt) => receipt && { ...receipt, ...noLogs }],
    [
      'first',
      'returns another receipt',
      (receipt) => receipt && { ...receipt, transactionHash: `0x${'ab'.repeat(32)}` },
    ],
  ])('keeps a transaction waiting, not the cursor, when the %s source %s', async (place, _, falsify) => {
    const payout = await sign();
    const { stopFalsifying } = await scanWithWrongReceipt(place, payout.txHash, falsify);
    await send(payout);
    await mineAndFollow(5);
    expect(await fateOf(payout)).not.toMatch(/^VERIFIED/);
    stopFalsifying();
    await waitUntil('it is verified', async () => (await fateOf(payout))?.startsWith('VERIFIED') === true);
    expect(await fateOf(payout)).toBe('VERIFIED delivered 1000000');
    await expectAsOnChain(payout);
  });

  it('shows an invented receipt of the first source and never verifies it', async () => {
    const payout = await sign();
    let invented: Receipt = null;
    const { stopFalsifying } = await scanWithWrongReceipt('first', payout.txHash, () => invented);
    const other = await world.pay(anEvmAddress(), 5n);
    await world.mine();
    const real = await callRpc<Record<string, unknown>>(world.anvil.rpcUrl, 'eth_getTransactionReceipt', [
      other,
    ]);
    const logs = (real['logs'] as readonly object[]).map((log) => ({
      ...log,
      transactionHash: payout.txHash,
    }));
    invented = { ...real, logs, transactionHash: payout.txHash, from: HOT.address };
    await world.mine();
    await waitUntil('it is shown', async () => (await fateOf(payout)) !== undefined);
    expect(await fateOf(payout)).toMatch(/^MINED/);
    await mineAndFollow(4);
    expect(await fateOf(payout)).toMatch(/^MINED/); // two sources disagree
    stopFalsifying();
    await waitUntil('it is orphaned', async () => (await fateOf(payout))?.startsWith('ORPHANED') === true);
    await send(payout);
    await mineAndFollow(3);
    expect(await fateOf(payout)).toBe('VERIFIED delivered 1000000');
  });
});
