import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'kysely';
import { aPayout } from '@opentill/testkit/scenario';
import { createSuiPaying, suiPayersOf } from '@opentill/testkit/sui-paying';
import { waitUntil } from '@opentill/testkit/wait-until';
import { expectTruth, recorded } from './expect-truth.ts';
import { CHAIN, createScannerWorld, type Replica, type ScannerWorld } from './scanner-world.ts';
import { createTruthChain, type PaymentKind, type TruthChain } from './truth-chain.ts';

let world: ScannerWorld;
let chain: TruthChain;
let replica: Replica;

beforeAll(async () => {
  world = await createScannerWorld();
  chain = createTruthChain(world.devnet, 5);
  replica = await world.startReplica();
  await world.caughtUp();
});
afterAll(() => world.close());

async function newAddress(): Promise<string> {
  const address = await world.newDepositAddress();
  chain.addAddress(address);
  return address;
}

describe('deposits', () => {
  it('records each coin received in successful transactions, as coin or balance', async () => {
    const transfers: Readonly<Record<PaymentKind, number>> = {
      coin: 1,
      intoBalance: 1,
      twice: 1,
      batch: 2,
      native: 1,
      gasless: 1,
      toHimself: 0,
      gasTakenBack: 0,
      failed: 0,
      ofNothing: 0,
    };
    await newAddress(); // also paid by batches
    const addresses = new Map<string, PaymentKind>();
    for (const kind of Object.keys(transfers) as PaymentKind[]) {
      const address = await newAddress();
      addresses.set(address, kind);
      if (kind !== 'batch') await chain.send(kind, address);
    }
    const [batched = ''] = [...addresses].find(([, kind]) => kind === 'batch') ?? [];
    await chain.send('batch', batched);
    // Executed, but not yet in a checkpoint.
    await world.caughtUp();
    expect(await recorded(world, 'VERIFIED')).toEqual([]);
    world.devnet.control.checkpoint();
    await expectTruth(world, chain);
    const found = await recorded(world, 'VERIFIED');
    for (const [address, kind] of addresses) {
      const count = found.filter(({ to }) => to === address).length;
      expect({ kind, atLeast: count >= transfers[kind] }).toEqual({ kind, atLeast: true });
      if (transfers[kind] === 0) expect({ kind, count }).toEqual({ kind, count: 0 });
    }
    const batch = found.filter(({ tx }) => tx === found.find(({ to }) => to === batched)!.tx);
    expect(new Set(batch.map(({ token }) => token)).size).toBe(2);
    expect(new Set(batch.map(({ to }) => to)).size).toBeGreaterThan(1);
    const reported: string[] = [];
    await waitUntil('each deposit is reported', async () => {
      for (const event of await world.takeEvents('block.verified')) reported.push(...event.data.transferIds);
      return reported.length === found.length;
    });
  });

  it('records a payment of two coins to three addresses by address and coin', async () => {
    const [payer] = suiPayersOf(world.devnet);
    const { USDC, USDT } = world.devnet.tokens;
    const [a, b, c] = [await newAddress(), await newAddress(), await newAddress()];
    const tx = await createSuiPaying(world.devnet).pay(payer!, [
      { coinType: USDC, to: a, amount: 1n },
      { coinType: USDT, to: a, amount: 2n },
      { coinType: USDC, to: b, amount: 3n },
      { coinType: USDC, to: b, amount: 4n, intoBalance: true },
      { coinType: USDT, to: c, amount: 5n, intoBalance: true },
    ]);
    world.devnet.control.checkpoint();
    await expectTruth(world, chain);
    const found = (await recorded(world, 'VERIFIED')).filter((one) => one.tx === tx);
    expect(new Set(found.map(({ to, token, amount }) => `${amount} ${token} ${to}`))).toEqual(
      new Set([`1 ${USDC} ${a}`, `2 ${USDT} ${a}`, `7 ${USDC} ${b}`, `5 ${USDT} ${c}`]),
    );
    expect(found).toHaveLength(4);
  });

  it('finds deposits made while no scanner ran, also without history lists', async () => {
    for (const kind of ['list', 'no-history'] as const) {
      await replica.stop();
      if (kind === 'no-history') world.node.fault({ kind });
      for (let block = 0; block < 8; block += 1) await chain.produceBlock();
      world.devnet.control.checkpoint(40);
      replica = await world.startReplica();
      await expectTruth(world, chain);
      world.node.clearFaults();
    }
  });
});

describe('subscription', () => {
  const ways: readonly (readonly [string, () => void])[] = [
    ['is cut', () => world.node.dropConnections()],
    ['falls silent', () => world.node.fault({ kind: 'silent-streams' })],
    ['leaves checkpoints out', () => world.node.fault({ kind: 'skip-checkpoint', times: 3 })],
    [
      'is not offered',
      () => {
        world.node.fault({ kind: 'status', code: 'UNIMPLEMENTED', method: 'SubscribeCheckpoints' });
        world.node.dropConnections();
      },
    ],
  ];
  it.each(ways)('leaves no gap and no duplicate when a subscription %s', async (_, harm) => {
    await chain.produceBlock();
    await world.caughtUp();
    harm();
    for (let block = 0; block < 4; block += 1) await chain.produceBlock();
    await expectTruth(world, chain);
    world.node.clearFaults();
    await chain.produceBlock();
    await expectTruth(world, chain);
  });
});

describe('node without balance changes', () => {
  it.each(['coin', 'gasless'] as const)(
    'holds the cursor below a payment without balance changes (%s)',
    async (kind) => {
      const { checkpoint } = world.devnet.control.summary();
      world.node.fault({ kind: 'no-balance-changes' });
      await chain.send(kind, await newAddress());
      world.devnet.control.checkpoint(2);
      expect(await world.passed('seen', checkpoint + 1, 700)).toBe(false);
      world.node.clearFaults();
      await expectTruth(world, chain);
    },
  );
});

describe('transaction without balance changes', () => {
  const payAfterIt = async (): Promise<void> => {
    for (let checkpoint = 0; checkpoint < 3; checkpoint += 1) {
      await chain.send('gasTakenBack', await newAddress());
      world.devnet.control.checkpoint();
    }
    await chain.send('coin', await newAddress());
    world.devnet.control.checkpoint();
  };
  it('does not delay payments after a transaction without balance changes', async () => {
    await payAfterIt();
    await expectTruth(world, chain);
    const other = await world.devnet.control.openNode();
    await replica.stop();
    replica = await world.startReplica({ rpcUrls: [world.node.url, other.url] });
    await payAfterIt();
    await expectTruth(world, chain);
    await replica.stop();
    replica = await world.startReplica();
    await expectTruth(world, chain);
    await other.close();
  });

  it.each(['list', 'no-history'] as const)(
    'reads payments after a first transaction without balance changes (%s)',
    async (kind) => {
      await replica.stop();
      if (kind === 'no-history') world.node.fault({ kind });
      world.devnet.control.checkpoint(30);
      await payAfterIt();
      replica = await world.startReplica();
      await expectTruth(world, chain);
      world.node.clearFaults();
    },
  );

  it('holds the cursor at a node that never returns balance changes', async () => {
    world.node.fault({ kind: 'no-balance-changes' });
    const { checkpoint } = world.devnet.control.summary();
    await chain.send('gasTakenBack', await newAddress());
    world.devnet.control.checkpoint();
    expect(await world.passed('seen', checkpoint + 1, 700)).toBe(false);
    world.node.clearFaults();
    await expectTruth(world, chain);
  });
});

it('rejects a node of another network and reports a misconfiguration', async () => {
  const foreign = await world.startReplica({ genesisId: '4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S' });
  await waitUntil('it reports the error', () => foreign.failures.length > 0);
  expect(foreign.failures[0]).toMatchObject({ code: 'WRONG_CHAIN' });
  await foreign.stop();
});

it('counts all payments of a foreign hot wallet transaction as possible payouts', async () => {
  const [thief] = suiPayersOf(world.devnet);
  const wallet = thief!.toSuiAddress();
  const { USDC, USDT } = world.devnet.tokens;
  const aReceiver = (): string => `0x${randomBytes(32).toString('hex')}`;
  const receivers = [aReceiver(), aReceiver(), aReceiver()];
  const payoutTo = (address: string, contract: string | null, amount: bigint) =>
    aPayout(world.admin.kysely, {
      chain: CHAIN,
      family: 'SUI',
      source_address: wallet,
      address,
      contract_address: contract,
      amount,
    }).then(async ({ order_pk: orderPk, expires_at }) => {
      await world.admin.kysely
        .insertInto('payout')
        .values({ order_pk: orderPk, chain: CHAIN, wallet, state: 'REQUESTED', expires_at })
        .execute();
      return orderPk;
    });
  const paid = [
    await payoutTo(receivers[0]!, USDC, 5n),
    await payoutTo(receivers[1]!, USDC, 6n),
    await payoutTo(receivers[1]!, USDT, 7n),
    await payoutTo(receivers[2]!, null, 8n),
  ];
  const unpaid = [
    await payoutTo(receivers[1]!, USDC, 7n),
    await payoutTo(receivers[2]!, USDC, 8n),
    await payoutTo(aReceiver(), USDC, 5n),
  ];
  const txHash = await createSuiPaying(world.devnet).pay(thief!, [
    { coinType: USDC, to: receivers[0]!, amount: 5n },
    { coinType: USDC, to: receivers[1]!, amount: 2n },
    { coinType: USDC, to: receivers[1]!, amount: 4n, intoBalance: true },
    { coinType: USDT, to: receivers[1]!, amount: 7n },
    { coinType: '0x2::sui::SUI', to: receivers[2]!, amount: 8n },
  ]);
  world.devnet.control.checkpoint();
  await world.caughtUp();
  const { rows } = await sql<{ to: string; contract: string | null; amount: string }>`
    select to_address as "to", contract_address as contract, amount::text as amount from foreign_transfer
    where tx_hash = ${txHash} and wallet = ${wallet}`.execute(world.admin.kysely);
  expect(rows).toHaveLength(4);
  expect(rows).toEqual(
    expect.arrayContaining([
      { to: receivers[0], contract: USDC, amount: '5' },
      { to: receivers[1], contract: USDC, amount: '6' },
      { to: receivers[1], contract: USDT, amount: '7' },
      { to: receivers[2], contract: null, amount: '8' },
    ]),
  );
  const mayBePaid = async (orderPk: string): Promise<boolean> => {
    const answer = await sql<{
      may: boolean;
    }>`select may_be_paid_by_foreign(${orderPk}::uuid) as may`.execute(world.admin.kysely);
    return answer.rows[0]!.may;
  };
  expect(await Promise.all(paid.map(mayBePaid))).toEqual([true, true, true, true]);
  expect(await Promise.all(unpaid.map(mayBePaid))).toEqual([false, false, false]);
});

it('batches database statements of checkpoints that arrive together', async () => {
  const TOGETHER = 150;
  await world.caughtUp();
  await replica.stop();
  const to = await newAddress();
  for (let place = 0; place < TOGETHER; place += 1) {
    if (place % 60 === 0) await chain.send('coin', to);
    world.devnet.control.checkpoint();
  }
  replica = await world.startReplica();
  await expectTruth(world, chain);
  expect(replica.statements()).toBeGreaterThan(0);
  expect(replica.statements() / TOGETHER).toBeLessThan(1);
});
