import { Transaction, TransactionDataBuilder } from '@mysten/sui/transactions';
import { deriveDynamicFieldID } from '@mysten/sui/utils';
import { bcs } from '@mysten/sui/bcs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accumulatorIdOf, digestOf } from '../../src/sui/digest.ts';
import {
  changesOf,
  EVERYTHING,
  newAddress,
  newKey,
  startWorld,
  told,
  windowOf,
  type World,
} from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(async () => world.devnet.close());

const SUI = '0x2::sui::SUI';

test('serves accounts, coins and balances to the official client', async () => {
  const { client, devnet, keys } = world;
  const owner = devnet.accounts[2]!.address;
  expect(keys.map((key) => key.toSuiAddress())).toEqual(devnet.accounts.map(({ address }) => address));
  expect((await client.core.getChainIdentifier()).chainIdentifier).toBe(devnet.chainId);
  const { balances } = await client.listBalances({ owner });
  expect(
    balances.map(({ balance, coinBalance, addressBalance }) => [balance, coinBalance, addressBalance]),
  ).toEqual([
    ['10000000000000000', '5000000000000000', '5000000000000000'],
    ...Array.from({ length: 2 }, () => ['1000000000000000', '500000000000000', '500000000000000']),
  ]);
  const first = await client.listCoins({ owner, coinType: devnet.tokens.USDT, limit: 3 });
  const second = await client.listCoins({ owner, coinType: devnet.tokens.USDT, cursor: first.cursor });
  expect([first.objects.length, first.hasNextPage, second.objects.length, second.hasNextPage]).toEqual([
    3,
    true,
    1,
    false,
  ]);
  const { coinMetadata } = await client.getCoinMetadata({ coinType: devnet.tokens.USDC });
  expect(coinMetadata).toMatchObject({ decimals: 6, symbol: 'USDC' });
  const { object } = await client.getObject({
    objectId: first.objects[0]!.objectId,
    include: { objectBcs: true },
  });
  expect(digestOf('Object', object.objectBcs!)).toBe(object.digest);
});

test('reports digest, effects, balance changes and checkpoint of a coin transfer', async () => {
  const { client, devnet, keys, land, balanceOf } = world;
  const to = newAddress();
  const transaction = new Transaction();
  transaction.transferObjects([transaction.coin({ type: devnet.tokens.USDT, balance: 2_500_000n })], to);
  const before = devnet.control.summary().checkpoint;
  const result = await land(transaction);
  const sender = keys[1]!.toSuiAddress();
  const { digest, effects } = told(result) as unknown as {
    digest: string;
    effects: { gasUsed: Record<string, string> };
  };
  expect(digest).toBe(TransactionDataBuilder.getDigestFromBytes(await transaction.build({ client })));
  const gas = BigInt(effects.gasUsed['computationCost']!) + BigInt(effects.gasUsed['storageCost']!);
  expect(changesOf(result).toSorted()).toEqual(
    [`${sender} USDT -2500000`, `${to} USDT 2500000`, `${sender} SUI -${gas}`].toSorted(),
  );
  expect(await balanceOf(to, 'USDT')).toBe(2_500_000n);
  const { response } = await client.ledgerService.getCheckpoint({
    checkpointId: { oneofKind: 'sequenceNumber', sequenceNumber: BigInt(before + 1) },
    readMask: {
      paths: [
        'digest',
        'summary.previous_digest',
        'summary.bcs',
        'transactions.digest',
        'transactions.effects.bcs',
      ],
    },
  });
  const { checkpoint } = response;
  expect(checkpoint?.transactions.map((each) => each.digest)).toContain(digest);
  expect(digestOf('CheckpointSummary', checkpoint!.summary!.bcs!.value!)).toBe(checkpoint!.digest);
  const last = checkpoint!.transactions.at(-1)!;
  expect(bcs.TransactionEffects.parse(last.effects!.bcs!.value!).V2?.transactionDigest).toBe(digest);
  const read = await client.getTransaction({ digest, include: EVERYTHING });
  expect(told(read)).toMatchObject({ digest });
});

test('charges gas from a shared object without changing a balance', async () => {
  const { devnet, keys, land } = world;
  const sender = keys[1]!.toSuiAddress();
  const toHimself = async () => {
    const transaction = new Transaction();
    transaction.transferObjects([transaction.coin({ type: devnet.tokens.USDC, balance: 0n })], sender);
    return land(transaction);
  };
  devnet.control.setRebatedGas(sender);
  const result = await toHimself();
  const { effects } = told(result) as unknown as { effects: { gasUsed: Record<string, string> } };
  expect(BigInt(effects.gasUsed['computationCost']!)).toBeGreaterThan(0n);
  expect(changesOf(result)).toEqual([]);
  devnet.control.setRebatedGas(undefined);
  expect(changesOf(await toHimself())).toHaveLength(1);
});

test('stores an address balance as a field of the accumulator root', () => {
  const owner = newAddress();
  const type = `0x2::accumulator::Key<0x2::balance::Balance<${world.devnet.tokens.USDC}>>`;
  const root = `0x${'0'.repeat(61)}acc`;
  expect(accumulatorIdOf(owner, world.devnet.tokens.USDC)).toBe(
    deriveDynamicFieldID(root, type as never, bcs.Address.serialize(owner).toBytes()),
  );
});

test('executes concurrent offline payments from an address balance once each', async () => {
  const { devnet, keys, offline, execute, balanceOf } = world;
  const recipients = Array.from({ length: 20 }, newAddress);
  const written = await Promise.all(recipients.map((to, nonce) => offline(keys[3]!, to, 1_000_000n, nonce)));
  const again = await offline(keys[3]!, recipients[0]!, 1_000_000n, 77);
  const results = await Promise.all([...written, again, ...written].map(execute));
  devnet.control.checkpoint();
  expect(results.map(({ $kind }) => $kind)).toEqual(results.map(() => 'Transaction'));
  const digests = results.map((result) => (told(result) as unknown as { digest: string }).digest);
  expect(new Set(digests).size).toBe(21);
  const [first, ...others] = await Promise.all(recipients.map((to) => balanceOf(to, 'USDC')));
  expect([first, new Set(others)]).toEqual([2_000_000n, new Set([1_000_000n])]);
});

test('rejects transactions whose window excludes the current epoch', async () => {
  const { devnet, keys, client, offline, execute } = world;
  const send = async (window: object): Promise<unknown> => {
    const transaction = new Transaction();
    transaction.setSender(keys[3]!.toSuiAddress());
    transaction.setGasPrice(500);
    transaction.setGasBudget(5_000_000);
    transaction.setGasPayment([]);
    transaction.setExpiration(window as never);
    transaction.transferObjects([transaction.coin({ type: devnet.tokens.USDC, balance: 1n })], newAddress());
    const bytes = await transaction.build({ assumeSufficientAddressBalances: true } as never);
    const { signature } = await keys[3]!.signTransaction(bytes);
    return client.executeTransaction({ transaction: bytes, signatures: [signature] });
  };
  await expect(send({ ValidDuring: windowOf(devnet, 1, [1, 1]) })).rejects.toThrow(/Transaction Expired/);
  await expect(send({ ValidDuring: windowOf(devnet, 1, [0, 2]) })).rejects.toThrow(/at most min_epoch \+ 1/);
  await expect(send({ Epoch: 5 })).rejects.toThrow(/require ValidDuring/);
  const other = { ...windowOf(devnet, 1), chain: '4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S' };
  await expect(send({ ValidDuring: other })).rejects.toThrow(/does not match network chain ID/);
  const late = await offline(keys[3]!, newAddress(), 1n, 5);
  const early = await offline(keys[3]!, newAddress(), 1n, 6);
  await execute(early);
  const { checkpoint: last } = devnet.control.advanceEpoch();
  await expect(execute(late)).rejects.toThrow(/Transaction Expired/);
  const { response } = await client.ledgerService.getEpoch({ epoch: 0n, readMask: { paths: ['*'] } });
  expect([response.epoch?.firstCheckpoint, response.epoch?.lastCheckpoint]).toEqual([0n, BigInt(last)]);
  expect((await execute(early)).$kind).toBe('Transaction');
});

test('rejects missing, wrong and malleable signatures', async () => {
  const { keys, offline, execute, client } = world;
  const written = await offline(keys[5]!, newAddress(), 1n, 1);
  const foreign = (await keys[4]!.signTransaction(written.bytes)).signature;
  await expect(execute({ ...written, signatures: [foreign] })).rejects.toThrow(/Required Signature from/);
  await expect(execute({ ...written, signatures: [] })).rejects.toThrow(
    /Expect 1 signer signatures but got 0/,
  );
  await expect(execute({ ...written, signatures: [...written.signatures, foreign] })).rejects.toThrow(
    /but got 2/,
  );
  const altered = Uint8Array.from(written.bytes);
  altered[altered.length - 20]! ^= 1;
  await expect(execute({ ...written, bytes: altered })).rejects.toThrow(
    /Failed to verify|invalid transaction/,
  );
  // The malleable variant of a secp256k1 signature: s is the curve's order minus s.
  const bytes = Buffer.from(written.signatures[0]!, 'base64');
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const s = order - BigInt(`0x${bytes.subarray(33, 65).toString('hex')}`);
  Buffer.from(s.toString(16).padStart(64, '0'), 'hex').copy(bytes, 33);
  await expect(execute({ ...written, signatures: [bytes.toString('base64')] })).rejects.toThrow(
    /Failed to verify/,
  );
  expect((await client.core.getReferenceGasPrice()).referenceGasPrice).toBe('500');
});

test('transfers USDC without gas in every form, but not USDT or less than a cent', async () => {
  const { devnet, client, land, balanceOf } = world;
  for (const forms of [['coin'], ['address'], ['coin', 'address']] as const) {
    const poor = newKey();
    for (const form of forms) {
      await devnet.control.fund(poor.toSuiAddress(), { symbol: 'USDC', amountBaseUnits: 3_000_000n, form });
    }
    const all = BigInt(forms.length) * 3_000_000n;
    const cold = newAddress();
    const sweep = new Transaction();
    const type = devnet.tokens.USDC;
    sweep.moveCall({
      target: '0x2::balance::send_funds',
      typeArguments: [type],
      arguments: [sweep.balance({ type, balance: all }), sweep.pure.address(cold)],
    });
    const result = await land(sweep, poor);
    expect(changesOf(result).toSorted()).toEqual(
      [`${poor.toSuiAddress()} USDC -${all}`, `${cold} USDC ${all}`].toSorted(),
    );
    expect([await balanceOf(cold, 'USDC'), await balanceOf(poor.toSuiAddress(), 'USDC')]).toEqual([all, 0n]);
  }
  const poor = newKey();
  await devnet.control.fund(poor.toSuiAddress(), {
    symbol: 'USDC',
    amountBaseUnits: 3_000_000n,
    form: 'address',
  });
  await devnet.control.fund(poor.toSuiAddress(), {
    symbol: 'USDT',
    amountBaseUnits: 3_000_000n,
    form: 'address',
  });
  const send = async (type: string, balance: bigint): Promise<unknown> => {
    const sweep = new Transaction();
    sweep.setSender(poor.toSuiAddress());
    sweep.moveCall({
      target: '0x2::balance::send_funds',
      typeArguments: [type],
      arguments: [sweep.balance({ type, balance }), sweep.pure.address(newAddress())],
    });
    return sweep.build({ client });
  };
  await expect(send(devnet.tokens.USDT, 3_000_000n)).rejects.toThrow(/insufficient SUI balance/);
  await expect(send(devnet.tokens.USDC, 9_999n)).rejects.toThrow(/insufficient SUI balance/);
  await expect(send(devnet.tokens.USDC, 2_999_999n)).rejects.toThrow(
    /use the entire balance, or leave at least 10000/,
  );
});

test('lets a sponsor pay the gas, signed by both', async () => {
  const { devnet, keys, execute, client } = world;
  const poor = newKey();
  const sponsor = keys[1]!;
  await devnet.control.fund(poor.toSuiAddress(), { symbol: 'USDT', amountBaseUnits: 4_000_000n });
  const cold = newAddress();
  const sweep = new Transaction();
  sweep.setSender(poor.toSuiAddress());
  sweep.setGasOwner(sponsor.toSuiAddress());
  sweep.setGasPayment([]);
  sweep.setExpiration({ ValidDuring: windowOf(devnet, 9) });
  const type = devnet.tokens.USDT;
  sweep.moveCall({
    target: '0x2::coin::send_funds',
    typeArguments: [type],
    arguments: [sweep.coin({ type, balance: 4_000_000n }), sweep.pure.address(cold)],
  });
  const bytes = await sweep.build({ client });
  const [ofPoor, ofSponsor] = [await poor.signTransaction(bytes), await sponsor.signTransaction(bytes)];
  await expect(execute({ bytes, signatures: [ofPoor.signature] })).rejects.toThrow(
    /Expect 2 signer signatures/,
  );
  const result = await execute({ bytes, signatures: [ofSponsor.signature, ofPoor.signature] });
  devnet.control.checkpoint();
  const changes = changesOf(result);
  expect(changes).toContain(`${cold} USDT 4000000`);
  const paid = changes.find((change) => change.startsWith(`${sponsor.toSuiAddress()} SUI`))?.split(' ')[2];
  // 1,000 units at 500 MIST, minus 99 % of the storage cost of the sender's coin.
  expect(Number(paid)).toBe(-500_000 + Math.round(1_322_400 * 0.99));
});

test("completes a draft's inputs and gas without executing it", async () => {
  const { client, devnet, keys } = world;
  const owner = keys[7]!.toSuiAddress();
  const { objects } = await client.listCoins({ owner, coinType: devnet.tokens.USDT });
  const transfer = (): Transaction => {
    const transaction = new Transaction();
    const [part] = transaction.splitCoins(transaction.object(objects[0]!.objectId), [5n]);
    transaction.transferObjects([part!], newAddress());
    return transaction;
  };
  const kind = bcs.TransactionKind.parse(await transfer().build({ client, onlyTransactionKind: true }));
  expect(kind.ProgrammableTransaction?.inputs[0]?.Object?.ImmOrOwnedObject).toMatchObject({
    version: objects[0]!.version,
    digest: objects[0]!.digest,
  });
  const sent = transfer();
  sent.setSender(owner);
  const simulated = await client.simulateTransaction({ transaction: sent, include: EVERYTHING });
  expect(changesOf(simulated as never)).toContain(`${owner} USDT -5`);
  const built = bcs.TransactionData.parse(await sent.build({ client })).V1;
  // 1,000 units plus 1,000, and a new coin's storage. The genesis coin gives no rebate.
  expect(BigInt(built.gasData.budget)).toBe(1_000_000n + 2n * 1_322_400n);
  expect(built.expiration.Validity?.allowedProposers?.proposers.length).toBeGreaterThan(0);
});

test('prunes old checkpoints without losing balances; a seed determines the chain', async () => {
  const { devnet, client, balanceOf } = await startWorld({ keepCheckpoints: 5 });
  const { checkpoint: head } = devnet.control.checkpoint(10);
  expect(devnet.chainId).toBe(world.devnet.chainId);
  const { response } = await client.ledgerService.getServiceInfo({});
  expect(response.lowestAvailableCheckpoint).toBe(BigInt(head - 4));
  expect(devnet.chain.transactions.size).toBe(5);
  expect(await balanceOf(devnet.accounts[0]!.address, 'USDC')).toBe(10n ** 15n);
  await devnet.close();
});

test('a coin reservation uses an address balance as gas coin, without a gas object', async () => {
  const { devnet, land, client } = world;
  const owner = newKey();
  await devnet.control.fund(owner.toSuiAddress(), { mist: 3_000_000_000n, form: 'address' });
  await devnet.control.fund(owner.toSuiAddress(), { mist: 1_000_000_000n });
  const to = newAddress();
  const transaction = new Transaction();
  transaction.transferObjects([transaction.splitCoins(transaction.gas, [3_500_000_000n])], to);
  const result = await land(transaction, owner);
  expect(result.$kind).toBe('Transaction');
  const { effects } = told(result) as unknown as { effects: { gasObject: unknown } };
  expect(effects.gasObject).toBeNull();
  const { balance } = await client.getBalance({ owner: to });
  expect(balance.coinBalance).toBe('3500000000');
  const left = await client.getBalance({ owner: owner.toSuiAddress(), coinType: SUI });
  expect([left.balance.coinBalance, BigInt(left.balance.addressBalance) > 490_000_000n]).toEqual(['0', true]);
});
