import { Transaction, TransactionDataBuilder } from '@mysten/sui/transactions';
import { bcs } from '@mysten/sui/bcs';
import type { Signer } from '@mysten/sui/cryptography';
import { fromBase64 } from '@mysten/sui/utils';
import { expect, test } from 'vitest';
import { addressOfOwner } from '../../src/sui/chain/object.ts';
import { isRefusal } from '../../src/sui/chain/refusal.ts';
import { submit } from '../../src/sui/chain/submit.ts';
import { netGas, type TransactionRecord } from '../../src/sui/chain/transaction.ts';
import { SUI_TYPE } from '../../src/sui/coin-type.ts';
import { startWorld, windowOf, type World } from './world.ts';

function createDice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

function supplies({ devnet }: World): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  const add = (coinType: string, amount: bigint): void => {
    sums.set(coinType, (sums.get(coinType) ?? 0n) + amount);
  };
  for (const { coin } of devnet.chain.objects.values()) if (coin) add(coin.coinType, coin.balance);
  for (const [key, amount] of devnet.chain.funds) add(key.split(' ')[1]!, amount);
  return sums;
}

type Dice = (sides: number) => number;

function fillProgram(transaction: Transaction, world: World, signer: Signer, dice: Dice): void {
  const { devnet } = world;
  const owner = signer.toSuiAddress();
  const recipient = (): string => devnet.accounts[dice(devnet.accounts.length)]!.address;
  const types = [devnet.tokens.USDC, devnet.tokens.USDT];
  const owned = [...(devnet.chain.index.objects.get(owner)?.values() ?? [])];
  for (let left = 1 + dice(4); left > 0; left--) {
    const type = types[dice(2)]!;
    const coins = owned.filter(({ coin }) => coin?.coinType === type);
    const picked = coins[dice(Math.max(1, coins.length))];
    const amount = BigInt(1 + dice(1_000));
    const withdraw = () => transaction.coin({ type, balance: amount, useGasCoin: false });
    switch (dice(5)) {
      case 0:
        transaction.transferObjects([withdraw()], recipient());
        break;
      case 1:
        transaction.moveCall({
          target: '0x2::coin::send_funds',
          typeArguments: [type],
          arguments: [withdraw(), transaction.pure.address(recipient())],
        });
        break;
      case 2:
        if (picked === undefined) break;
        transaction.transferObjects(
          [transaction.splitCoins(objectOf(transaction, picked), [dice(12) === 0 ? 10n ** 18n : amount])],
          recipient(),
        );
        break;
      case 3: {
        const others = coins.filter(({ id }) => id !== picked?.id).slice(0, 3);
        if (picked === undefined || others.length === 0) break;
        transaction.mergeCoins(
          objectOf(transaction, picked),
          others.map((other) => objectOf(transaction, other)),
        );
        owned.splice(0); // merged coins no longer exist
        break;
      }
      default:
        if (dice(3) === 0) transaction.splitCoins(withdraw(), [amount]); // unused result: fails
    }
  }
}

function objectOf(
  transaction: Transaction,
  { id, version, digest }: { readonly id: string; readonly version: bigint; readonly digest: string },
): ReturnType<Transaction['objectRef']> {
  return transaction.objectRef({ objectId: id, version: String(version), digest });
}

async function write(world: World, signer: Signer, dice: Dice, nonce: number): Promise<Uint8Array> {
  const transaction = new Transaction();
  transaction.setSender(signer.toSuiAddress());
  transaction.setGasPrice(500);
  transaction.setGasBudget(dice(20) === 0 ? 600_000 : 50_000_000);
  transaction.setGasPayment([]);
  transaction.setExpiration({ ValidDuring: windowOf(world.devnet, nonce) });
  fillProgram(transaction, world, signer, dice);
  return transaction.build({ assumeSufficientAddressBalances: true } as never);
}

function checkRecord({ devnet }: World, record: TransactionRecord): void {
  const { outcome, digest, bytes } = record;
  expect(digest).toBe(TransactionDataBuilder.getDigestFromBytes(bytes));
  const parsed = bcs.TransactionEffects.parse(outcome.effectsBytes);
  expect(Buffer.from(bcs.TransactionEffects.serialize(parsed).toBytes())).toEqual(
    Buffer.from(outcome.effectsBytes),
  );
  expect(parsed.V2?.changedObjects.map(([id]) => id)).toEqual(outcome.changes.map(({ id }) => id));
  const sums = new Map<string, bigint>();
  for (const { coinType, amount } of outcome.balanceChanges) {
    sums.set(coinType, (sums.get(coinType) ?? 0n) + amount);
  }
  for (const [coinType, sum] of sums) expect(sum).toBe(coinType === SUI_TYPE ? -netGas(outcome.gas) : 0n);
  for (const change of outcome.changes) {
    if (change.kind === 'created' || change.kind === 'mutated') {
      const object = bcs.Object.parse(change.after.bytes);
      expect(BigInt(object.data.Move!.version)).toBe(outcome.lamportVersion);
    }
  }
  if (outcome.failure !== undefined) expect(new Set(sums.keys())).toEqual(new Set([SUI_TYPE]));
  expect(devnet.chain.transactions.get(digest)).toBe(record);
}

test("random transactions keep the coin supply and match the client's codec", async () => {
  const world = await startWorld({ seed: 'conservation' });
  const { devnet, keys } = world;
  const dice = createDice(20_261_121);
  const before = supplies(world);
  let gas = 0n;
  const fates = { done: 0, failed: 0, refused: 0 };
  for (let nonce = 0; nonce < 600; nonce++) {
    const signer = keys[dice(keys.length)]!;
    const bytes = await write(world, signer, dice, nonce);
    const signatures = [fromBase64((await signer.signTransaction(bytes)).signature)];
    try {
      const record = await submit(devnet.chain, { bytes, signatures }, 0);
      checkRecord(world, record);
      gas += netGas(record.outcome.gas);
      fates[record.outcome.failure === undefined ? 'done' : 'failed'] += 1;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      fates.refused += 1;
    }
    if (dice(4) === 0) devnet.control.checkpoint();
  }
  devnet.control.checkpoint();
  const after = supplies(world);
  expect(after.get(SUI_TYPE)).toBe((before.get(SUI_TYPE) ?? 0n) - gas);
  for (const coinType of Object.values(devnet.tokens)) expect(after.get(coinType)).toBe(before.get(coinType));
  const indexed = [...devnet.chain.index.objects].flatMap(([owner, owned]) =>
    [...owned.keys()].map((id) => `${id} ${owner}`),
  );
  const live = [...devnet.chain.objects.values()].flatMap(({ id, owner }) => {
    const address = addressOfOwner(owner);
    return address === undefined ? [] : [`${id} ${address}`];
  });
  expect(indexed.toSorted()).toEqual(live.toSorted());
  expect(devnet.chain.index.funds).toEqual(devnet.chain.funds);
  expect(Math.min(fates.done, fates.failed)).toBeGreaterThan(40);
  await devnet.close();
});
