import { Transaction } from '@mysten/sui/transactions';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitUntil } from '@opentill/test-servers/poll-until';
import { changesOf, newAddress, newKey, startWorld, told, windowOf, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({ consensusMs: 30 });
});
afterAll(async () => world.devnet.close());

/** Holds back consensus until release. `has` waits for this number of submitted transactions. */
function holdConsensus() {
  const { chain } = world.devnet;
  const { promise, resolve } = Promise.withResolvers<void>();
  chain.held = promise;
  return {
    has: async (count: number): Promise<void> => {
      const isThere = (): boolean => chain.submissions.size === count;
      expect(await waitUntil(isThere, { deadlineMs: 60_000, pollIntervalMs: 5 })).toBe(true);
    },
    release: (): void => {
      chain.held = undefined;
      resolve();
    },
  };
}

interface Told {
  readonly digest: string;
  readonly status: { readonly success: boolean; readonly error?: { readonly message: string } };
  readonly effects: { readonly gasUsed: Record<string, string> };
}

test('executes only the first of two transactions that use the same coin', async () => {
  const { devnet, client, keys } = world;
  const owner = newKey();
  await devnet.control.fund(owner.toSuiAddress(), { symbol: 'USDT', amountBaseUnits: 9n });
  const { objects } = await client.listCoins({ owner: owner.toSuiAddress(), coinType: devnet.tokens.USDT });
  const build = async (nonce: number): Promise<{ transaction: Uint8Array; signatures: string[] }> => {
    const transaction = new Transaction();
    transaction.setSender(owner.toSuiAddress());
    transaction.setGasOwner(keys[2]!.toSuiAddress());
    transaction.setGasPayment([]);
    transaction.setGasPrice(500);
    transaction.setGasBudget(5_000_000);
    transaction.setExpiration({ ValidDuring: windowOf(devnet, nonce) });
    transaction.transferObjects([transaction.objectRef(objects[0]!)], newAddress());
    const bytes = await transaction.build();
    const signers = [owner, keys[2]!];
    const signed = await Promise.all(signers.map((signer) => signer.signTransaction(bytes)));
    return { transaction: bytes, signatures: signed.map(({ signature }) => signature) };
  };
  const [first, second] = [await build(1), await build(2)];
  const consensus = holdConsensus();
  const winning = client.executeTransaction(first);
  await consensus.has(1);
  await expect(client.executeTransaction(second)).rejects.toThrow(
    /already locked by a different transaction/,
  );
  consensus.release();
  expect(await winning).toMatchObject({ $kind: 'Transaction' });
  await expect(client.executeTransaction(second)).rejects.toThrow(
    /is unavailable for consumption, current version/,
  );
  expect((await client.executeTransaction(first)).$kind).toBe('Transaction');
  devnet.control.checkpoint();
});

test('charges only gas for a failed transaction', async () => {
  const { devnet, keys, execute } = world;
  const [from, to] = [keys[4]!, newAddress()];
  const transaction = new Transaction();
  transaction.setSender(from.toSuiAddress());
  transaction.setGasPayment([]);
  transaction.setGasPrice(500);
  transaction.setGasBudget(5_000_000);
  transaction.setExpiration({ ValidDuring: windowOf(devnet, 1) });
  const money = transaction.coin({ type: devnet.tokens.USDC, balance: 5n });
  const [part] = transaction.splitCoins(money, [6n]);
  transaction.transferObjects([money, part!], to);
  const bytes = await transaction.build({ assumeSufficientAddressBalances: true } as never);
  const result = await execute({ bytes, signatures: [(await from.signTransaction(bytes)).signature] });
  devnet.control.checkpoint();
  expect(result.$kind).toBe('FailedTransaction');
  expect((told(result) as unknown as Told).status.error?.message).toMatch(/Insufficient coin balance/);
  expect(changesOf(result)).toEqual([`${from.toSuiAddress()} SUI -500000`]);
  expect(await world.balanceOf(to, 'USDC')).toBe(0n);
});

test('an issuer can deny an address or pause the coin', async () => {
  const { devnet, keys, offline, execute } = world;
  const denied = newAddress();
  devnet.control.denyAddress('USDC', denied, true);
  const failed = await execute(await offline(keys[4]!, denied, 7n, 1));
  expect((told(failed) as unknown as Told).status.error?.message).toMatch(/is denied for coin/);
  devnet.control.denyAddress('USDC', denied, false);
  devnet.control.denyAddress('USDC', keys[4]!.toSuiAddress(), true);
  await expect(execute(await offline(keys[4]!, denied, 7n, 2))).rejects.toThrow(/is denied for coin/);
  devnet.control.denyAddress('USDC', keys[4]!.toSuiAddress(), false);
  devnet.control.pauseCoin('USDC', true);
  await expect(execute(await offline(keys[4]!, denied, 7n, 3))).rejects.toThrow(/globally paused/);
  devnet.control.pauseCoin('USDC', false);
  expect((await execute(await offline(keys[4]!, denied, 7n, 3))).$kind).toBe('Transaction');
});

test('rejects an uncovered withdrawal, or cancels it if an earlier one took the funds', async () => {
  const { devnet, offline, execute } = world;
  const owner = newKey();
  await devnet.control.fund(owner.toSuiAddress(), {
    symbol: 'USDC',
    amountBaseUnits: 10n,
    mist: 10n ** 9n,
    form: 'address',
  });
  await expect(execute(await offline(owner, newAddress(), 11n, 1))).rejects.toThrow(
    /Available amount in account .* is less than requested: 10 < 11/,
  );
  const both = await Promise.all(
    [6n, 7n].map(async (amount, nonce) => offline(owner, newAddress(), amount, nonce)),
  );
  const consensus = holdConsensus();
  const executing: ReturnType<typeof execute>[] = [];
  for (const one of both) {
    executing.push(execute(one));
    await consensus.has(executing.length);
  }
  consensus.release();
  const [first, second] = await Promise.all(executing);
  devnet.control.checkpoint();
  expect([first?.$kind, second?.$kind]).toEqual(['Transaction', 'FailedTransaction']);
  expect((told(second!) as unknown as Told).status.error?.message).toMatch(/Insufficient funds for withdraw/);
  expect(changesOf(second!)).toEqual([]);
  expect(await world.balanceOf(owner.toSuiAddress(), 'USDC')).toBe(4n);
});

test('enforces gas prices, budgets and limits', async () => {
  const { devnet, client, keys } = world;
  const build = async (change: (transaction: Transaction) => void): Promise<string> => {
    const transaction = new Transaction();
    transaction.setSender(keys[6]!.toSuiAddress());
    transaction.setGasPayment([]);
    transaction.setGasPrice(500);
    transaction.setGasBudget(5_000_000);
    transaction.setExpiration({ ValidDuring: windowOf(devnet, 1) });
    transaction.transferObjects([transaction.coin({ type: devnet.tokens.USDC, balance: 1n })], newAddress());
    change(transaction);
    const bytes = await transaction.build({ assumeSufficientAddressBalances: true } as never);
    const { signature } = await keys[6]!.signTransaction(bytes);
    const result = await client.executeTransaction({ transaction: bytes, signatures: [signature] });
    const { status } = told(result) as unknown as Told;
    return status.error?.message ?? 'success';
  };
  await expect(build((transaction) => transaction.setGasPrice(499))).rejects.toThrow(
    /under reference gas price \(RGP\) 500/,
  );
  await expect(build((transaction) => transaction.setGasBudget(499_999))).rejects.toThrow(
    /lower than min: 500000/,
  );
  await expect(build((transaction) => transaction.setGasBudget(50_000_000_001))).rejects.toThrow(
    /higher than max/,
  );
  expect(await build((transaction) => transaction.setGasBudget(1_500_000))).toMatch(/Insufficient Gas/);
  expect(await build((transaction) => transaction.setGasBudget(1_822_400))).toBe('success');
});

test('counts a party coin as balance and uses it like a shared object', async () => {
  const { devnet, client, keys, balanceOf } = world;
  const owner = newKey();
  const { digests } = await devnet.control.fund(owner.toSuiAddress(), {
    symbol: 'USDC',
    amountBaseUnits: 12n,
    form: 'party',
  });
  const paid = await client.getTransaction({ digest: digests[0]!, include: { balanceChanges: true } });
  expect(changesOf(paid as never)).toContain(`${owner.toSuiAddress()} USDC 12`);
  const { objects } = await client.listCoins({ owner: owner.toSuiAddress(), coinType: devnet.tokens.USDC });
  const version = objects[0]!.owner.ConsensusAddressOwner!.startVersion;
  const cold = newAddress();
  const sweep = new Transaction();
  sweep.setSender(owner.toSuiAddress());
  sweep.setGasOwner(keys[2]!.toSuiAddress());
  sweep.setGasPayment([]);
  sweep.setGasPrice(500);
  sweep.setGasBudget(5_000_000);
  sweep.setExpiration({ ValidDuring: windowOf(devnet, 1) });
  const coin = sweep.sharedObjectRef({
    objectId: objects[0]!.objectId,
    initialSharedVersion: version,
    mutable: true,
  });
  sweep.moveCall({
    target: '0x2::coin::send_funds',
    typeArguments: [devnet.tokens.USDC],
    arguments: [coin, sweep.pure.address(cold)],
  });
  const bytes = await sweep.build();
  const signed = await Promise.all([owner, keys[2]!].map((key) => key.signTransaction(bytes)));
  const result = await world.execute({ bytes, signatures: signed.map(({ signature }) => signature) });
  devnet.control.checkpoint();
  expect(result.$kind).toBe('Transaction');
  expect([await balanceOf(cold, 'USDC'), await balanceOf(owner.toSuiAddress(), 'USDC')]).toEqual([12n, 0n]);
});

test("executes concurrent payments of the client's executor from an address balance", async () => {
  const { devnet, client, keys, balanceOf } = world;
  const { ParallelTransactionExecutor } = await import('@mysten/sui/transactions');
  const executor = new ParallelTransactionExecutor({
    client,
    signer: keys[8]!,
    gasMode: 'addressBalance',
  } as never);
  const to = newAddress();
  const type = devnet.tokens.USDC;
  devnet.control.setCheckpointMs(20);
  const results = await Promise.all(
    Array.from({ length: 10 }, async (_, index) => {
      const transaction = new Transaction();
      transaction.setSender(keys[8]!.toSuiAddress());
      transaction.moveCall({
        target: '0x2::balance::send_funds',
        typeArguments: [type],
        arguments: [transaction.balance({ type, balance: BigInt(index + 1) }), transaction.pure.address(to)],
      });
      return executor.executeTransaction(transaction);
    }),
  );
  devnet.control.setCheckpointMs(0);
  devnet.control.checkpoint();
  expect(results.map(({ $kind }) => $kind)).toEqual(results.map(() => 'Transaction'));
  expect(await balanceOf(to, 'USDC')).toBe(55n);
});
