import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import type { Database } from '@opentill/db/database';
import { contractInterface } from '@opentill/devnets/evm/contract-artifacts';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { callContract, deployContract, reorg } from '@opentill/devnets/evm/start-evm-devnet';
import { signTransaction } from '@opentill/devnets/evm/transactions';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { createLyingRpcProxy, type LyingRpcOptions } from '@opentill/testkit/lying-rpc-proxy';
import { aHotWalletAddress, anOwnTransaction } from '@opentill/testkit/payout-scenario';
import { anEvmAddress, aPayout } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { CHAIN, createScannerWorld, type Replica, type ScannerWorld } from './scanner-harness.ts';

/*
 * What becomes of transactions that the gateway signed, on a devnet: real receipts, real reorganisations. Each is stored
 * before it is sent, as the signer does. The chain's depth is 3.
 */

const OWNER = devAccount(0);
const HOT = devAccount(3);
const hotAddress = HOT.address.toLowerCase();

let world: ScannerWorld;
let signer: Database;
let replica: Replica;
/** A token that says yes and moves nothing. */
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

/** Signs and stores a payout from the hot wallet; `token` null pays the native coin. */
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

/** `MINED`, `VERIFIED delivered 5`, `VERIFIED failed`; undefined when there is none. */
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

/** What the node itself says where a transaction is. */
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

/** Changes a setting of the USDT's contract in a block of its own. */
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

describe('an own transaction', () => {
  it('is followed from its block to its depth, with events', async () => {
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
    const told: unknown[] = [];
    await waitUntil('it is told', async () => {
      for (const { data } of await world.takeEvents('fate.changed')) told.push(data);
      return told.length >= 2;
    });
    const event = { chain: CHAIN, txHashes: [payout.txHash] };
    expect(told).toEqual([event, event]);
  });

  it('ends in many ways', async () => {
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

  it('to a deposit address is no deposit; a top-up of the hot wallet is recorded as a transfer', async () => {
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

  it('is found by a scanner that was away, also when it took long', async () => {
    await replica.stop();
    const payout = await signAndSend();
    await world.mine(70); // more than the window of blocks that are kept
    replica = await world.startReplica();
    await world.caughtUp();
    expect(await fateOf(payout)).toBe('VERIFIED delivered 1000000');
    await expectAsOnChain(payout);
  });
});

describe('a reorganisation', () => {
  const rearrange = async (depth: number, ...blocks: readonly (readonly string[])[]): Promise<void> => {
    const replacements = blocks.flatMap((raws, blockOffset) =>
      raws.map((rawTransaction) => ({ rawTransaction, blockOffset })),
    );
    await reorg({ rpcUrl: world.anvil.rpcUrl, depth, replacements });
    await world.caughtUp();
  };

  it('moves it to another block, where it is verified', async () => {
    const payout = await signAndSend();
    await mineAndFollow(2);
    await rearrange(2, [], [payout.raw]);
    expect(await fateOf(payout)).toBe('MINED delivered 1000000');
    await expectAsOnChain(payout);
    await mineAndFollow(2);
    expect(await fateOf(payout)).toBe('VERIFIED delivered 1000000');
  });

  it('mines it again as a failed one', async () => {
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

  it('takes it back; sent again it is mined again', async () => {
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

  it('deeper than the depth takes a verified one back, and brings it', async () => {
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

describe('of two sources, one of which lies about receipts', () => {
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    await replica.stop();
    for (const close of closers.splice(0)) await close();
    replica = await world.startReplica();
    await world.caughtUp();
  });

  type Receipt = Readonly<Record<string, unknown>> | null;

  /** A scanner on the truth and on a node that lies about one transaction while it is told to. */
  async function scanBeside(
    place: 'first' | 'second',
    txHash: string,
    lie: (receipt: Receipt) => unknown,
  ): Promise<{ tellTheTruth(): void }> {
    let isLying = true;
    const override: NonNullable<LyingRpcOptions['override']> = async ({ method, params }, honest) => {
      if (!isLying || method !== 'eth_getTransactionReceipt' || params[0] !== txHash) return undefined;
      return { result: lie((await honest({ method, params })) as Receipt) };
    };
    const proxy = await createLyingRpcProxy({ upstreamUrl: world.anvil.rpcUrl, seed: 1, override });
    closers.push(() => proxy.close());
    await replica.stop();
    const { rpcUrl } = world.anvil;
    const rpcUrls = place === 'first' ? [proxy.url, rpcUrl] : [rpcUrl, proxy.url];
    replica = await world.startReplica({ rpcUrls });
    await world.caughtUp();
    return {
      tellTheTruth() {
        isLying = false;
      },
    };
  }

  const noLogs = { logs: [], logsBloom: `0x${'0'.repeat(512)}` };
  it.each<['first' | 'second', string, (receipt: Receipt) => unknown]>([
    ['second', 'keeps it back', () => null],
    ['second', 'says it failed', (receipt) => receipt && { ...receipt, ...noLogs, status: '0x0' }],
    ['first', 'leaves the log out', (receipt) => receipt && { ...receipt, ...noLogs }],
    [
      'first',
      'answers another one',
      (receipt) => receipt && { ...receipt, transactionHash: `0x${'ab'.repeat(32)}` },
    ],
  ])('the %s %s: it waits, the cursor does not, and the truth comes', async (place, _, lie) => {
    const payout = await sign();
    const { tellTheTruth } = await scanBeside(place, payout.txHash, lie);
    await send(payout);
    await mineAndFollow(5);
    expect(await fateOf(payout)).not.toMatch(/^VERIFIED/);
    tellTheTruth();
    await waitUntil('it is verified', async () => (await fateOf(payout))?.startsWith('VERIFIED') === true);
    expect(await fateOf(payout)).toBe('VERIFIED delivered 1000000');
    await expectAsOnChain(payout);
  });

  it('the first invents one: shown at most, and never verified', async () => {
    const payout = await sign();
    let invented: Receipt = null;
    const { tellTheTruth } = await scanBeside('first', payout.txHash, () => invented);
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
    expect(await fateOf(payout)).toMatch(/^MINED/); // two sources differ on it
    tellTheTruth();
    await waitUntil('it is taken back', async () => (await fateOf(payout))?.startsWith('ORPHANED') === true);
    await send(payout);
    await mineAndFollow(3);
    expect(await fateOf(payout)).toBe('VERIFIED delivered 1000000');
  });
});
