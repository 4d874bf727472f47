import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { Deposit } from '@opentill/testkit/transfer-audit';
import { createScannerWorld, type Replica, type ScannerWorld } from './scanner-world.ts';
import { createTruthChain, type PaymentKind, type TruthChain } from './truth-chain.ts';

let world: ScannerWorld;
let chain: TruthChain;
let replica: Replica;

beforeAll(async () => {
  world = await createScannerWorld();
  chain = await createTruthChain(world.devnet, 5);
  replica = await world.startReplica();
  await world.caughtUp();
});
afterAll(() => world.close());

async function recorded(state: string): Promise<readonly Deposit[]> {
  const { rows } = await sql<Deposit>`
    select tx_hash as tx, position, contract_address as token, to_address as "to", amount::text as amount,
      block_height as height, block_hash as block from transfer where state = ${state}
    order by block_height, tx_hash, position`.execute(world.admin.kysely);
  return rows;
}
const sorted = (deposits: readonly Deposit[]): readonly Deposit[] =>
  deposits.toSorted(
    (a, b) => a.height - b.height || a.tx.localeCompare(b.tx) || a.position.localeCompare(b.position),
  );

async function newAddress(): Promise<string> {
  const address = await world.newDepositAddress();
  chain.addAddress(address);
  return address;
}

describe('deposits', () => {
  it('records transfer logs of successful transactions and direct TRX payments', async () => {
    const transfers: Readonly<Record<PaymentKind, number | 'some'>> = {
      transfer: 1,
      withDataBehind: 1,
      byContract: 'some',
      trx: 1,
      ofNothing: 0,
      fakeToken: 0,
      reverted: 0,
      outOfEnergy: 0,
    };
    const addresses = new Map<string, string>();
    for (const kind of Object.keys(transfers) as PaymentKind[]) {
      const address = await newAddress();
      addresses.set(address, kind);
      await chain.send(kind, address);
    }
    // They are in the node's pool, where they look successful.
    await world.caughtUp();
    expect(await recorded('DETECTED')).toEqual([]);
    await world.devnet.control.mine();
    await world.caughtUp();
    const detected = await recorded('DETECTED');
    for (const [address, kind] of addresses) {
      const count = detected.filter(({ to }) => to === address).length;
      const wanted = transfers[kind as PaymentKind];
      expect({ kind, count }).toEqual({ kind, count: wanted === 'some' ? expect.any(Number) : wanted });
      if (wanted === 'some') expect(count).toBeGreaterThan(0);
    }
    expect(detected).toEqual(sorted(await chain.truth()));
    await world.devnet.control.mine(3);
    await world.caughtUp();
    expect(await recorded('VERIFIED')).toEqual(detected);
    const reported: string[] = [];
    await waitUntil('each deposit is reported', async () => {
      for (const event of await world.takeEvents('block.verified')) reported.push(...event.data.transferIds);
      return reported.length === detected.length;
    });
  });

  it('records each transfer of a transaction, but no TRX sent by a contract', async () => {
    const [thrice, internal] = [await newAddress(), await newAddress()];
    await chain.sendOwn(thrice, 3);
    const sun = await chain.sendTrxByContract(internal);
    await world.devnet.control.mine();
    await world.caughtUp();
    const detected = await recorded('DETECTED');
    expect(detected.filter(({ to }) => to === thrice)).toHaveLength(3);
    expect(new Set(detected.map(({ tx }) => tx)).size).toBe(1);
    // The TRX arrived, but only nodes configured for it keep internal transactions.
    const account = await fetch(`${world.devnet.url}/wallet/getaccount`, {
      method: 'POST',
      body: JSON.stringify({ address: internal, visible: true }),
    });
    expect(await account.json()).toMatchObject({ balance: Number(sun) });
    expect(detected.filter(({ to }) => to === internal)).toEqual([]);
    await world.devnet.control.mine(4);
    await world.caughtUp();
  });

  it('orphans deposits of a fork and records them again under the same key', async () => {
    const [dropped, moved] = [await newAddress(), await newAddress()];
    const keyOf = ({ tx, position, to, amount }: Deposit): unknown => ({ tx, position, to, amount });
    await chain.send('transfer', moved);
    await world.devnet.control.mine();
    await world.caughtUp();
    const [before] = await recorded('DETECTED');
    await chain.reorganise(1, false);
    await world.caughtUp();
    const [after] = await recorded('DETECTED');
    expect(keyOf(after!)).toEqual(keyOf(before!));
    expect(after!.block).not.toBe(before!.block);
    await chain.send('byContract', dropped);
    await world.devnet.control.mine();
    await world.caughtUp();
    await chain.reorganise(1, true);
    await world.caughtUp();
    const orphaned = await recorded('ORPHANED');
    expect(orphaned.map(({ to }) => to)).toEqual(expect.arrayContaining([dropped]));
    await world.devnet.control.mine(4);
    await world.caughtUp();
    expect(await recorded('VERIFIED')).toEqual(sorted(await chain.truth()));
  });

  it('finds deposits made while no scanner ran', async () => {
    await replica.stop();
    for (let block = 0; block < 12; block += 1) await chain.produceBlock();
    await world.devnet.control.mine(3);
    replica = await world.startReplica();
    await world.caughtUp();
    expect(await recorded('VERIFIED')).toEqual(sorted(await chain.truth()));
  });
});

it('rejects a node of another network and reports a misconfiguration', async () => {
  const foreign = await world.startReplica({ genesisId: '0x00000001' });
  await waitUntil('it reports the error', () => foreign.failures.length > 0);
  expect(foreign.failures[0]).toMatchObject({ code: 'WRONG_CHAIN' });
  await foreign.stop();
});
