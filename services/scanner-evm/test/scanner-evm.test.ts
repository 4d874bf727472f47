import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { reorg } from '@opentill/devnets/evm/start-evm-devnet';
import { signTransaction } from '@opentill/devnets/evm/transactions';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { createLyingRpcProxy } from '@opentill/testkit/lying-rpc-proxy';
import { waitUntil } from '@opentill/testkit/wait-until';
import { createScannerWorld, type Replica, type ScannerWorld } from './scanner-harness.ts';

let world: ScannerWorld;
let replica: Replica;

beforeAll(async () => {
  world = await createScannerWorld();
  replica = await world.startReplica();
  await world.caughtUp();
});
afterAll(() => world.close());

async function expectAgreement(): Promise<void> {
  await world.caughtUp();
  expect(await world.recorded('DETECTED', 'VERIFIED')).toEqual(await world.paymentsOnChain());
  const { verified } = await world.cursor();
  const onChain = await world.paymentsOnChain();
  expect(await world.recorded('VERIFIED')).toEqual(onChain.filter((payment) => payment.height <= verified));
}

describe('deposits', () => {
  it('are seen in the next block and verified at their depth, with events', async () => {
    const address = await world.newDepositAddress();
    await world.takeEvents('block.verified');
    const tx = await world.pay(address, 5_000_000n);
    await world.mine();
    await world.caughtUp();
    expect(await world.recorded('DETECTED')).toMatchObject([{ tx, to: address, amount: '5000000' }]);
    await world.mine(2);
    await world.caughtUp();
    expect(await world.recorded('VERIFIED')).toMatchObject([{ tx, to: address, amount: '5000000' }]);
    const { rows } = await sql<{ id: string; contract: string; symbol: string; fee: string }>`
      select transfer_id::text as id, contract_address as contract, symbol, network_fee::text as fee from transfer
      where tx_hash = ${tx}`.execute(world.admin.kysely);
    expect(rows[0]).toMatchObject({ contract: world.usdt.toLowerCase(), symbol: 'USDT' });
    expect(BigInt(rows[0]!.fee)).toBeGreaterThan(0n);
    const detected: unknown[] = [];
    const verified: { height: number; transferIds: string[] }[] = [];
    await waitUntil('the events are out', async () => {
      for (const event of await world.takeEvents('transfer.detected')) detected.push(event.data);
      for (const event of await world.takeEvents('block.verified')) verified.push(event.data);
      return verified.some((data) => data.transferIds.length > 0);
    });
    expect(detected).toEqual([{ chain: 'ETH_SEPOLIA', transferIds: [rows[0]!.id] }]);
    expect(verified.at(-1)).toMatchObject({ transferIds: [rows[0]!.id] });
  });

  it('of one transaction to several addresses, twice to one, are all recorded', async () => {
    const [a, b] = [await world.newDepositAddress(), await world.newDepositAddress()];
    const stranger = devAccount(7).address.toLowerCase();
    const items = [a, stranger, b, a, b].map((to, place) => ({ to, amount: BigInt(place + 1) }));
    const tx = await world.payMany(items);
    await world.mine(3);
    await world.caughtUp();
    const { rows } = await sql<{ position: string; to: string; amount: string }>`
      select position, to_address as to, amount::text as amount from transfer where tx_hash = ${tx} order by position`.execute(
      world.admin.kysely,
    );
    expect(rows).toEqual([
      { position: 'log:0', to: a, amount: '1' },
      { position: 'log:2', to: b, amount: '3' },
      { position: 'log:3', to: a, amount: '4' },
      { position: 'log:4', to: b, amount: '5' },
    ]);
    await expectAgreement();
  });

  it('are found after the scanner was away for 50 blocks', async () => {
    const address = await world.newDepositAddress();
    await replica.stop();
    for (let i = 0; i < 10; i += 1) {
      await world.pay(address, BigInt(i + 1));
      await world.mine(5);
    }
    const before = await world.cursor();
    replica = await world.startReplica();
    await expectAgreement();
    expect((await world.cursor()).seen).toBe(before.seen + 50);
    expect(await world.recorded('VERIFIED')).toHaveLength(1 + 4 + 10);
  });
});

describe('a reorganisation', () => {
  /** A raw payment that can be mined in any branch: its sender does nothing else. */
  async function rawPayment(account: number, to: string, amount: bigint): Promise<string> {
    const { privateKey } = devAccount(account);
    const data = `0xa9059cbb${to.slice(2).padStart(64, '0')}${amount.toString(16).padStart(64, '0')}`;
    return signTransaction({ rpcUrl: world.anvil.rpcUrl, fromKey: privateKey, to: world.usdt, data });
  }
  const send = (raw: string): Promise<string> =>
    callRpc<string>(world.anvil.rpcUrl, 'eth_sendRawTransaction', [raw]);

  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])(
    'of depth %i drops, moves and replaces payments, and the books agree with the chain',
    async (depth) => {
      const [dropped, moved, replaced, kept] = await Promise.all(
        Array.from({ length: 4 }, () => world.newDepositAddress()),
      );
      const amount = BigInt(1_000 + depth);
      await world.pay(kept!, amount, 1);
      await world.mine();
      const rawMoved = await rawPayment(3, moved!, amount);
      const rawReplacement = await rawPayment(4, replaced!, amount + 1n);
      await world.pay(dropped!, amount, 1);
      const movedTx = await send(rawMoved);
      await world.pay(replaced!, amount, 4); // the same nonce as the replacement
      await world.mine(depth);
      await world.caughtUp();
      expect(await world.recorded('DETECTED', 'VERIFIED')).toEqual(await world.paymentsOnChain());
      const versionOf = async (): Promise<{ id: string; version: number; firstTime: Date; time: Date }> =>
        (
          await sql<{ id: string; version: number; firstTime: Date; time: Date }>`
            select transfer_id::text as id, version, first_block_time as "firstTime", block_time as time from transfer
            where tx_hash = ${movedTx}`.execute(world.admin.kysely)
        ).rows[0]!;
      const before = await versionOf();
      await world.takeEvents('transfer.orphaned');

      // The moved one lands behind the replacement: in another block, and at another log index where it is the same.
      const last = depth - 1;
      await reorg({
        rpcUrl: world.anvil.rpcUrl,
        depth,
        replacements: [
          { rawTransaction: rawReplacement, blockOffset: last },
          { rawTransaction: rawMoved, blockOffset: last },
        ],
      });
      await expectAgreement();
      const orphaned = await world.recorded('ORPHANED');
      expect(orphaned.filter((p) => [dropped, replaced].includes(p.to))).toHaveLength(2);
      const after = await versionOf();
      expect(after.id).toBe(before.id);
      expect(after.version).toBeGreaterThan(before.version);
      // The devnet gives the new branch times of its own, also earlier ones.
      expect(after.firstTime.getTime()).toBe(Math.min(before.firstTime.getTime(), after.time.getTime()));
      const orphanedIds: string[] = [];
      await waitUntil('the loss is told', async () => {
        for (const event of await world.takeEvents('transfer.orphaned'))
          orphanedIds.push(...event.data.transferIds);
        return orphanedIds.length >= 2;
      });
      expect(orphanedIds).toHaveLength(2);
      expect(orphanedIds).not.toContain(before.id);
      await world.mine(3);
      await expectAgreement();
    },
  );

  it('below the window stops the scanner, loudly, and nothing is written', async () => {
    await world.mine(40);
    await world.caughtUp();
    const before = await world.cursor();
    await reorg({ rpcUrl: world.anvil.rpcUrl, depth: 40 });
    const health = async (): Promise<string> => (await replica.app.checks['ETH_SEPOLIA']!()).detail ?? '';
    await waitUntil('the chain is halted', async () => (await health()) === 'halted: REORG_TOO_DEEP');
    expect(await world.cursor()).toEqual(before);
    expect(await replica.metrics.render()).toMatch(/opentill_scanner_halted_bool\{chain="ETH_SEPOLIA".*\} 1/);
    expect(replica.failures).toEqual([]);
  });
});

describe('a chain of its own', () => {
  const worlds: ScannerWorld[] = [];
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const other of worlds.splice(0)) await other.close();
    for (const close of closers.splice(0)) await close();
  });

  it('is followed to its finalized block where the network says so', async () => {
    const other = await createScannerWorld({ slotsInAnEpoch: 2, network: { confirmations: 'finalized' } });
    worlds.push(other);
    await other.startReplica();
    await other.caughtUp();
    const address = await other.newDepositAddress();
    await other.pay(address, 7n);
    await other.mine();
    await other.caughtUp();
    expect(await other.recorded('DETECTED')).toHaveLength(1);
    await other.mine(3);
    await other.caughtUp();
    expect(await other.recorded('VERIFIED')).toHaveLength(0);
    await other.mine(1);
    await waitUntil('finality reached it', async () => (await other.recorded('VERIFIED')).length === 1);
    await other.caughtUp(); // the verified pass may be ahead of the seen one
    const { head, verified } = await other.cursor();
    expect(head - verified).toBe(4);
  });

  it('behind a lying node is recorded right, and no block is passed unread', async () => {
    const other = await createScannerWorld();
    worlds.push(other);
    const seed = 7;
    const proxy = await createLyingRpcProxy({
      upstreamUrl: other.anvil.rpcUrl,
      seed,
      faults: {
        rateLimited: 0.01,
        connectionReset: 0.02,
        truncatedJson: 0.02,
        unavailable: 0.02,
        laggingNode: 0.05,
        answerMissing: 0.02,
        internalError: 0.02,
        laggingLogs: 0.1,
        falseEmpty: 0.1,
        duplicatedLog: 0.1,
        orphanedLog: 0.05,
        receiptMissing: 0.03,
        blockReceiptsShort: 0.05,
      },
    });
    closers.push(() => proxy.close());
    const { wsUrl: _, ...network } = { ...other.network, rpcUrls: [proxy.url] };
    await other.startReplica(network);
    await other.caughtUp();
    const addresses = await Promise.all(Array.from({ length: 5 }, () => other.newDepositAddress()));
    for (let block = 0; block < 24; block += 1) {
      await other.pay(addresses[block % 5]!, BigInt(block + 1));
      await other.mine();
      if (block % 8 === 7) {
        await reorg({ rpcUrl: other.anvil.rpcUrl, depth: 2 });
        await other.mine();
      }
      if (block % 3 === 2) await other.caughtUp();
    }
    await other.mine(3);
    proxy.setFaults({ laggingNode: 0.05, falseEmpty: 0.1, laggingLogs: 0.1 });
    await other.caughtUp();
    const { verified } = await other.cursor();
    const onChain = await other.paymentsOnChain();
    expect(onChain.length).toBeGreaterThan(12);
    expect(await other.recorded('VERIFIED')).toEqual(onChain.filter((payment) => payment.height <= verified));
    expect(Object.values(proxy.injected).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(20);
  }, 600_000);

  it('is not scanned when the node is of another network, which the operator is told', async () => {
    const other = await createScannerWorld();
    worlds.push(other);
    const wrong = await other.startReplica({ chainId: 5 });
    await waitUntil('it gives up', () => wrong.failures.length > 0);
    expect(wrong.failures[0]).toMatchObject({ code: 'WRONG_CHAIN', retryable: false });
    await expect(other.cursor()).rejects.toThrow('no cursor yet');
    const [token, ...rest] = other.network.tokens;
    const mistaken = await other.startReplica({ tokens: [{ ...token!, decimals: 18 }, ...rest] });
    await waitUntil('it gives up', () => mistaken.failures.length > 0);
    expect(mistaken.failures[0]).toMatchObject({ code: 'TOKEN_MISMATCH', retryable: false });
    await expect(other.cursor()).rejects.toThrow('no cursor yet');
  });

  it('is scanned by one replica at a time, and by another soon after that is gone', async () => {
    const other = await createScannerWorld();
    worlds.push(other);
    await other.holdLeases();
    const first = await other.startReplica({}, 'first');
    await other.caughtUp();
    const second = await other.startReplica({}, 'second');
    const detail = async (of: Replica): Promise<string> =>
      (await of.app.checks['ETH_SEPOLIA']!()).detail ?? '';
    await waitUntil('the second stands by', async () => (await detail(second)) === 'standby');
    expect(await detail(first)).toMatch(/^verified/);
    const address = await other.newDepositAddress();
    await other.pay(address, 1n);
    await other.mine();
    await other.caughtUp();
    const before = await other.cursor();
    await first.stop();
    await other.pay(address, 2n);
    await other.mine(3);
    await other.caughtUp();
    expect((await other.cursor()).token).toBeGreaterThan(before.token);
    expect(await other.recorded('VERIFIED')).toEqual(await other.paymentsOnChain());
    expect(await detail(second)).toMatch(/^verified/);
  });
});
