import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectTruth } from './expect-truth.ts';
import { createScannerWorld, type Replica, type ScannerWorld } from './scanner-world.ts';
import { createTruthChain, type TruthChain } from './truth-chain.ts';

let world: ScannerWorld;
let chain: TruthChain;
let replica: Replica;

beforeAll(async () => {
  world = await createScannerWorld();
  chain = createTruthChain(world.devnet, 5);
  replica = await world.startReplica();
  await world.caughtUp();
  chain.addAddress(await world.newDepositAddress());
});
afterAll(() => world.close());

it('works without a node that lags, omits balance changes or has pruned data', async () => {
  const other = await world.devnet.control.openNode();
  await replica.stop();
  replica = await world.startReplica({
    rpcUrls: [world.node.url, other.url],
    aloneAfterSeconds: 1,
  });
  await chain.produceBlock();
  await expectTruth(world, chain);
  other.fault({ kind: 'lag', checkpoints: 2 });
  await chain.produceBlock();
  expect(await world.passed('seen', world.devnet.control.summary().checkpoint, 60_000)).toBe(true);
  other.clearFaults();
  await expectTruth(world, chain);
  world.node.fault({ kind: 'no-balance-changes' });
  for (let block = 0; block < 3; block += 1) await chain.produceBlock();
  await expectTruth(world, chain);
  world.node.clearFaults();
  await replica.stop();
  for (let block = 0; block < 3; block += 1) await chain.produceBlock();
  world.devnet.control.checkpoint(3);
  other.prune(world.devnet.control.summary().checkpoint);
  replica = await world.startReplica({ rpcUrls: [other.url, world.node.url], aloneAfterSeconds: 1 });
  await expectTruth(world, chain);
  await other.close();
});
