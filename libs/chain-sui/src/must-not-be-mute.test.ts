import { GrpcTypes } from '@mysten/sui/grpc';
import { expect, test } from 'vitest';
import type { TxHash } from '@opentill/chain/transfer';
import type { SuiCheckpoint } from './decode-checkpoint.ts';
import { movesOfOneOwner, mustNotBeMute, type ToldChanges } from './must-not-be-mute.ts';
import type { SuiSource } from './sui-sources.ts';

const COIN = `0x${'2'.padStart(64, '0')}::coin::Coin<0xab::usdc::USDC>`;
const PICTURE = '0xab::pictures::Picture';
const A = GrpcTypes.Owner.create({ address: '0xa' });
const B = GrpcTypes.Owner.create({ address: '0xb' });
const object = (objectType: string, inputOwner = A, outputOwner = A): GrpcTypes.ChangedObject =>
  GrpcTypes.ChangedObject.create({ objectType, inputOwner, outputOwner });
const balance = (address: string): GrpcTypes.ChangedObject =>
  GrpcTypes.ChangedObject.create({ accumulatorWrite: { address } });
const effects = (changedObjects: GrpcTypes.ChangedObject[]): GrpcTypes.TransactionEffects =>
  GrpcTypes.TransactionEffects.create({ status: { success: true }, changedObjects });

test.each<[string, GrpcTypes.ChangedObject[], boolean]>([
  ['a coin changes its owner', [object(COIN, A, B)], false],
  ['coins of two owners', [object(COIN), object(COIN, B, B)], false],
  ['a coin of one owner and the balance of another', [object(COIN), balance('0xb')], false],
  ['balances of two owners', [balance('0xa'), balance('0xb')], false],
  ['a coin and the balance of one owner', [object(COIN), balance('0xa')], true],
  [
    'an object that is not a coin changes its owner, paid by a coin',
    [object(COIN), object(PICTURE, A, B)],
    true,
  ],
  ['no changed object', [], true],
])('decides whether all moved money has one owner: %s', (_, changed, expected) => {
  expect(movesOfOneOwner(effects(changed))).toBe(expected);
});

test('does not assume one owner when the node returns no effects', () => {
  expect(movesOfOneOwner(undefined)).toBe(false);
  expect(movesOfOneOwner(GrpcTypes.TransactionEffects.create({}))).toBe(false);
});

const [NOTHING, TELLING] = ['nothing', 'telling'] as TxHash[];

/** A node that answers for each digest with the given fields and otherwise without balance changes. */
function aSource(told: Readonly<Record<string, Partial<GrpcTypes.ExecutedTransaction>>>): SuiSource {
  const batchGetTransactions = ({ digests }: { readonly digests: readonly string[] }) =>
    Promise.resolve({
      response: {
        transactions: digests.map((digest) => {
          const transaction = { digest, balanceChanges: [], ...told[digest] };
          return { result: { oneofKind: 'transaction', transaction } };
        }),
      },
    });
  const ask = (question: (services: unknown, call: unknown) => unknown) =>
    question({ ledger: { batchGetTransactions } }, {});
  return { label: 'node', ask } as unknown as SuiSource;
}
const checkpoint = (
  height: number,
  mute: readonly (TxHash | undefined)[],
  telling?: TxHash,
  isFree = true,
): SuiCheckpoint =>
  ({
    header: { height },
    mute: mute.map((txHash) => ({ txHash, isFree })),
    telling,
  }) as unknown as SuiCheckpoint;
const toldBy = (source: SuiSource, height = 1): ToldChanges =>
  new WeakMap([[source, [{ height, txHash: TELLING! }]]]);
const changes = [{ address: '0xa', coinType: '0x2::sui::SUI', amount: '1' }];
/** Zero gas cost, and an empty coin given to another address. */
const emptyCoin = { effects: effects([object(COIN, A, B)]) };
const lacks = { code: 'INCONSISTENT_ANSWER', context: { lacksBalanceChanges: true } };

test('accepts an empty coin given away from a node that shows changes elsewhere', async () => {
  const source = aSource({ nothing: emptyCoin, telling: { balanceChanges: changes } });
  // Changes in the same checkpoint; in one read before; in an older one of the same reading; in one found by looking
  // back.
  await mustNotBeMute(source, [checkpoint(1, [NOTHING], TELLING)], new WeakMap(), {});
  const told: ToldChanges = new WeakMap();
  await mustNotBeMute(source, [checkpoint(1, [], TELLING)], told, {});
  await mustNotBeMute(source, [checkpoint(2, [NOTHING])], told, {});
  await mustNotBeMute(source, [checkpoint(2, [NOTHING]), checkpoint(1, [], TELLING)], new WeakMap(), {});
  const found: ToldChanges = new WeakMap();
  const lookBack = (height: number) => Promise.resolve([checkpoint(height - 2, [], TELLING)]);
  await mustNotBeMute(source, [checkpoint(4, [NOTHING])], found, {}, lookBack);
  await mustNotBeMute(source, [checkpoint(5, [NOTHING])], found, {});
});

test('accepts gas paid exactly from a shared object if the node shows other changes', async () => {
  for (const own of [emptyCoin, { effects: effects([object(COIN)]) }]) {
    const source = aSource({ nothing: own, telling: { balanceChanges: changes } });
    await mustNotBeMute(source, [checkpoint(2, [NOTHING], TELLING, false)], new WeakMap(), {});
    await mustNotBeMute(source, [checkpoint(2, [NOTHING], undefined, false)], toldBy(source), {});
    // Its effects look the same as those of a node that omits balance changes.
    const without = aSource({ nothing: own });
    await expect(
      mustNotBeMute(without, [checkpoint(2, [NOTHING], undefined, false)], toldBy(without), {}),
    ).rejects.toMatchObject(lacks);
  }
});

test('rejects a node that shows changes only in newer checkpoints', async () => {
  const source = aSource({ nothing: emptyCoin, telling: { balanceChanges: changes } });
  const reading = [checkpoint(1, [NOTHING], undefined, false), checkpoint(2, [], TELLING)];
  await expect(mustNotBeMute(source, reading, new WeakMap(), {})).rejects.toMatchObject(lacks);
  const noneBefore = () => Promise.resolve([checkpoint(0, [])]);
  await expect(mustNotBeMute(source, reading, new WeakMap(), {}, noneBefore)).rejects.toMatchObject(lacks);
});

test('checks more transactions without changes than fit into one call', async () => {
  const gifts = Array.from({ length: 450 }, (_, place) => `gift ${place}` as TxHash);
  const told = Object.fromEntries(gifts.map((gift) => [gift, emptyCoin]));
  const source = aSource({ ...told, telling: { balanceChanges: changes } });
  await mustNotBeMute(source, [checkpoint(2, gifts)], toldBy(source), {});
  // The last one is checked like the first.
  const hiding = aSource({
    ...told,
    [gifts.at(-1)!]: { ...emptyCoin, balanceChanges: changes },
    telling: { balanceChanges: changes },
  });
  await expect(mustNotBeMute(hiding, [checkpoint(2, gifts)], toldBy(hiding), {})).rejects.toMatchObject(
    lacks,
  );
});

test('rejects a node without any changes, also behind a URL that has shown some', async () => {
  const without = aSource({ nothing: emptyCoin });
  const reading = [checkpoint(2, [NOTHING])];
  await expect(mustNotBeMute(without, reading, new WeakMap(), {})).rejects.toMatchObject(lacks);
  await expect(mustNotBeMute(without, reading, toldBy(without), {})).rejects.toMatchObject(lacks);
});

test('does not accept a change in a newer checkpoint as proof of an index', async () => {
  const source = aSource({ nothing: emptyCoin, telling: { balanceChanges: changes } });
  await expect(
    mustNotBeMute(source, [checkpoint(2, [NOTHING])], toldBy(source, 3), {}),
  ).rejects.toMatchObject(lacks);
});

test('remembers a change for catching up while the head is read', async () => {
  const source = aSource({
    nothing: emptyCoin,
    telling: { balanceChanges: changes },
    ...Object.fromEntries([101, 102, 103].map((height) => [`at ${height}`, { balanceChanges: changes }])),
  });
  const told: ToldChanges = new WeakMap();
  const atHead = (height: number) => checkpoint(height, [], `at ${height}` as TxHash);
  await mustNotBeMute(source, [atHead(101)], told, {});
  await mustNotBeMute(source, [checkpoint(5, [], TELLING)], told, {});
  for (const height of [102, 103]) await mustNotBeMute(source, [atHead(height)], told, {});
  await mustNotBeMute(source, [checkpoint(6, [NOTHING])], told, {});
  expect(told.get(source)?.map(({ height }) => height)).toEqual([5, 103]);
});

test('rejects a checkpoint that omits changes which the node shows by digest', async () => {
  const told = { ...emptyCoin, balanceChanges: changes };
  const source = aSource({ nothing: told, telling: { balanceChanges: changes } });
  await expect(mustNotBeMute(source, [checkpoint(2, [NOTHING])], toldBy(source), {})).rejects.toMatchObject(
    lacks,
  );
});
