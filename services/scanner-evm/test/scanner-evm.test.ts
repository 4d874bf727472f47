import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { reorg } from '@opentill/devnets/evm/start-evm-devnet';
import { waitUntil } from '@opentill/testkit/wait-until';
import { describeReorganisations, expectAgreement } from './reorganisations.ts';
import { recordThroughByzantineNode } from './record-through-byzantine-node.ts';
import { createScannerWorld, type Replica, type ScannerWorld } from './scanner-harness.ts';

let world: ScannerWorld;
let replica: Replica;

beforeAll(async () => {
  world = await createScannerWorld();
});
afterAll(() => world.close());

it('stops with an error when the node serves another network or wrong tokens', async () => {
  const [token, ...rest] = world.network.tokens;
  const cases = [
    [{ chainId: 5 }, 'WRONG_CHAIN'],
    [{ tokens: [{ ...token!, decimals: 18 }, ...rest] }, 'TOKEN_MISMATCH'],
  ] as const;
  for (const [mistake, code] of cases) {
    const mistaken = await world.startReplica(mistake);
    await waitUntil('it gives up', () => mistaken.failures.length > 0);
    expect(mistaken.failures[0]).toMatchObject({ code, retryable: false });
    await expect(world.cursor()).rejects.toThrow('no cursor yet');
    await mistaken.stop();
  }
});

describe('deposits', () => {
  beforeAll(async () => {
    replica = await world.startReplica();
    await world.caughtUp();
  });

  it('records a deposit in the next block and verifies it at its depth, with events', async () => {
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

  it('records every transfer of one transaction to several addresses', async () => {
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
    await expectAgreement(world);
  });

  it('finds deposits after the scanner was away for 50 blocks', async () => {
    const address = await world.newDepositAddress();
    await replica.stop();
    for (let i = 0; i < 10; i += 1) {
      await world.pay(address, BigInt(i + 1));
      await world.mine(5);
    }
    const before = await world.cursor();
    replica = await world.startReplica();
    await expectAgreement(world);
    expect((await world.cursor()).seen).toBe(before.seen + 50);
    expect(await world.recorded('VERIFIED')).toHaveLength(1 + 4 + 10);
  });

  it('scans a chain by one replica at a time and hands it over soon', async () => {
    await world.holdLeases();
    const second = await world.startReplica({}, 'second');
    const detail = async (of: Replica): Promise<string> =>
      (await of.app.checks['ETH_SEPOLIA']!()).detail ?? '';
    await waitUntil('the second stands by', async () => (await detail(second)) === 'standby');
    expect(await detail(replica)).toMatch(/^verified/);
    const address = await world.newDepositAddress();
    await world.pay(address, 1n);
    await world.mine();
    await world.caughtUp();
    const before = await world.cursor();
    await replica.stop();
    replica = second;
    await world.pay(address, 2n);
    await world.mine(3);
    await expectAgreement(world);
    expect((await world.cursor()).token).toBeGreaterThan(before.token);
    expect(await detail(second)).toMatch(/^verified/);
  });
});

describe('reorganisation', () => {
  describeReorganisations(() => world, [1, 4, 10]); // the other depths are in scanner-evm.full.test.ts

  it('halts at a reorganisation below the window without writing a row', async () => {
    await world.mine(5);
    await world.caughtUp(); // stored at the end of the window; the reorganisation replaces it
    await world.mine(35);
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

describe('separate chain', () => {
  const worlds: ScannerWorld[] = [];
  afterEach(async () => {
    for (const other of worlds.splice(0)) await other.close();
  });

  it('follows a chain to its finalized block if configured', async () => {
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
    await other.caughtUp(); // the verified pass may be ahead of the seen pass
    const { head, verified } = await other.cursor();
    expect(head - verified).toBe(4);
  });

  it('credits safe blocks, and takes a payment back when they are replaced', async () => {
    const finality = { tag: 'safe', staleSeconds: 60 } as const;
    const network = { confirmations: 'finalized', finality } as const;
    const other = await createScannerWorld({ slotsInAnEpoch: 2, network });
    worlds.push(other);
    const { failures } = await other.startReplica();
    await other.caughtUp();
    await other.pay(await other.newDepositAddress(), 7n);
    await other.mine(3);
    await waitUntil('it is safe', async () => (await other.recorded('VERIFIED')).length === 1);
    await other.caughtUp(); // the verified pass may be ahead of the seen pass
    const { head, verified } = await other.cursor();
    expect(head - verified).toBe(2);
    await reorg({ rpcUrl: other.anvil.rpcUrl, depth: 4 });
    await waitUntil('it is taken back', async () => (await other.recorded('ORPHANED')).length === 1);
    expect(failures).toEqual([]);
  });

  it('records a chain correctly through a Byzantine node without skipping a block', async () => {
    const other = await createScannerWorld();
    worlds.push(other);
    await recordThroughByzantineNode(other, 9);
  });
});
