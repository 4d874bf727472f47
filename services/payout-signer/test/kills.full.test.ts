import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { callRpc } from '@opentill/devnet/json-rpc';
import type { OrderRow } from '@opentill/testkit/scenario';
import { seededRandom } from '@opentill/testkit/seeded-random';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import { checkChain } from './check-chain.ts';
import { prepareEnvironment, startProcess, type SignerProcess } from './signer-process.ts';
import { createSignerWorld, type SignerWorld } from './signer-world.ts';

const SEED = Number(process.env['SEED'] ?? 7);
const KILLS = Number(process.env['KILLS'] ?? 40);
const PAYOUTS = 100;

let world: SignerWorld;
let rabbit: TestBroker;
beforeAll(async () => {
  [world, rabbit] = await Promise.all([createSignerWorld(), createTestBroker()]);
});
afterAll(async () => {
  await rabbit.drop();
  await world.close();
});

test(`two processes that are killed at random land every payout exactly once (seed ${SEED})`, async () => {
  const random = seededRandom(SEED);
  const env = await prepareEnvironment(world, await rabbit.urlFor('payout-signer'));
  const orders: OrderRow[] = [];
  let kills = 0;
  let drops = 0;
  const born = async (): Promise<{ process: SignerProcess; killAt: number }> => {
    const process = await startProcess(env);
    return { process, killAt: Date.now() + 1_500 + random() * 5_000 };
  };
  const replicas = [await born(), await born()];
  const isDone = async (): Promise<boolean> => {
    if (orders.length < PAYOUTS || kills < KILLS) return false;
    const { rows } = await sql<{ open: number }>`
      select count(*)::int as open from payout p
      where not exists (select from wallet_nonce n where n.order_pk = p.order_pk and n.state = 'FINAL')`.execute(
      world.admin,
    );
    return rows[0]?.open === 0;
  };
  try {
    for (let turn = 0; !(await isDone()); turn += 1) {
      if (orders.length < PAYOUTS && orders.length < (PAYOUTS * kills) / KILLS + 4)
        orders.push(await world.payout());
      for (const [place, { process, killAt }] of replicas.entries()) {
        if (Date.now() < killAt || kills >= KILLS) continue;
        process.child.kill('SIGKILL');
        expect(await process.ended).toBe('SIGKILL');
        kills += 1;
        replicas[place] = await born();
      }
      if (random() < 0.05) {
        await callRpc(world.rpcUrl, 'anvil_dropAllTransactions', []);
        drops += 1;
      }
      if (random() < 0.3) await world.mine();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    for (const { process } of replicas) {
      process.child.kill('SIGKILL');
      await process.ended;
    }
  }
  const found = await checkChain(world, orders);
  process.stderr.write(`${JSON.stringify({ kills, drops, ...found })}\n`);
  expect(found).toEqual({ payouts: PAYOUTS, wrong: [] });
}, 400_000);
