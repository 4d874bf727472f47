import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'kysely';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { expectLandedOnce as landOnce } from '../world/expect-landed-once.ts';
import { createSuiWorld, ONE_USDC, type RunningSigner, type SuiWorld } from './sui-world.ts';

let world: SuiWorld;
let signers: RunningSigner[] = [];
beforeAll(async () => {
  world = await createSuiWorld();
});
afterEach(async () => {
  world.devnet.control.clearFaults();
  const failures = signers.flatMap((signer) => signer.failures);
  for (const signer of signers) await signer.stop();
  signers = [];
  expect(failures).toEqual([]);
});
afterAll(() => world.close());

const start = async (options: Parameters<SuiWorld['start']>[0] = {}): Promise<RunningSigner> => {
  const signer = await world.start(options);
  signers.push(signer);
  return signer;
};

const expectLandedOnce = (orders: readonly OrderRow[], attempts?: number) =>
  landOnce(world, orders, attempts);

describe('payout on SUI with faults', () => {
  test('sends the same bytes again after a lost answer, and pays once', async () => {
    let losing = true;
    let broadcasts = 0;
    await start({
      sender: (sender) => ({
        ...sender,
        async broadcast(...given) {
          broadcasts += 1;
          const real = await sender.broadcast(...given);
          return losing ? real.map(() => 'UNKNOWN' as const) : real;
        },
      }),
    });
    world.devnet.control.pause();
    const order = await world.payout();
    await waitUntil('sent several times', () => broadcasts > 2);
    losing = false;
    world.devnet.control.resume();
    await expectLandedOnce([order]);
  });

  test('pays with any epoch duration that a node reports', async () => {
    for (const expiresMs of [2 ** 54, 1e19, -1, Number.NaN]) {
      const signer = await start({
        sender: (sender) => ({
          ...sender,
          epochs: {
            async currentWindow(...given) {
              return { ...(await sender.epochs!.currentWindow(...given)), expiresMs };
            },
          },
        }),
      });
      await expectLandedOnce([await world.payout()]);
      await signer.stop();
    }
  });

  test('never displaces a payout by gathering: one per asset at a time, and no dust', async () => {
    const broadcasts = new Map<string, number>();
    const hash = async () => {
      const { rows } = await sql<{ tx_hash: string }>`
        select tx_hash from own_transaction t where purpose = 'GATHER' and contract_address = ${world.devnet.tokens.USDT}`.execute(
        world.admin,
      );
      return rows.map((row) => row.tx_hash);
    };
    world.devnet.control.fault({ kind: 'swallow-execute' });
    const { wallet } = world;
    await world.devnet.control.fund(wallet, { symbol: 'USDC', amountBaseUnits: ONE_USDC - 1n, form: 'coin' });
    await world.devnet.control.fund(wallet, { symbol: 'USDT', amountBaseUnits: ONE_USDC, form: 'coin' });
    await start({
      sender: (sender) => ({
        ...sender,
        async broadcast(signed, options) {
          for (const { txHash } of signed) broadcasts.set(txHash, (broadcasts.get(txHash) ?? 0) + 1);
          return sender.broadcast(signed, options);
        },
      }),
    });
    await waitUntil('sent again', async () => (broadcasts.get((await hash())[0] ?? '') ?? 0) > 3);
    expect(await hash()).toHaveLength(1);
    world.devnet.control.clearFaults();
    const inCoins = async (coinType: string) =>
      (await world.client.getBalance({ owner: wallet, coinType })).balance.coinBalance;
    await waitUntil('gathered', async () => (await inCoins(world.devnet.tokens.USDT)) === '0');
    expect(await hash()).toHaveLength(1);
    expect(await inCoins(world.devnet.tokens.USDC)).toBe(`${ONE_USDC - 1n}`);
  });
});
