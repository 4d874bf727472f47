import { GrpcTypes } from '@mysten/sui/grpc';
import { expect, test } from 'vitest';
import type { TxHash } from '@opentill/chain/transfer';
import type { SuiCheckpoint } from './decode-checkpoint.ts';
import { movesOfOneOwner, requireBalanceChanges, type ShownChanges } from './require-balance-changes.ts';
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

const [EMPTY, WITH_CHANGES] = ['empty', 'withChanges'] as TxHash[];

/** Answers for each digest with the given fields, otherwise without balance changes. */
function aSource(shown: Readonly<Record<string, Partial<GrpcTypes.ExecutedTransaction>>>): SuiSource {
  const batchGetTransactions = ({ digests }: { readonly digests: readonly string[] }) =>
    Promise.resolve({
      response: {
        transactions: digests.map((digest) => {
          const transaction = { digest, balanceChanges: [], ...shown[digest] };
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
  withoutChanges: readonly (TxHash | undefined)[],
  withChanges?: TxHash,
  isFree = true,
): SuiCheckpoint =>
  ({
    header: { height },
    withoutChanges: withoutChanges.map((txHash) => ({ txHash, isFree })),
    withChanges,
  }) as unknown as SuiCheckpoint;
const shownBy = (source: SuiSource, height = 1): ShownChanges =>
  new WeakMap([[source, [{ height, txHash: WITH_CHANGES! }]]]);
const changes = [{ address: '0xa', coinType: '0x2::sui::SUI', amount: '1' }];
const emptyCoin = { effects: effects([object(COIN, A, B)]) };
const lacks = { code: 'INCONSISTENT_ANSWER', context: { lacksBalanceChanges: true } };

test('accepts an empty coin given away from a node that shows changes elsewhere', async () => {
  const source = aSource({ empty: emptyCoin, withChanges: { balanceChanges: changes } });
  // Changes in the same checkpoint; in one read before; in an older one of the same call; in one found by looking back.
  await requireBalanceChanges(source, [checkpoint(1, [EMPTY], WITH_CHANGES)], new WeakMap(), {});
  const shown: ShownChanges = new WeakMap();
  await requireBalanceChanges(source, [checkpoint(1, [], WITH_CHANGES)], shown, {});
  await requireBalanceChanges(source, [checkpoint(2, [EMPTY])], shown, {});
  await requireBalanceChanges(
    source,
    [checkpoint(2, [EMPTY]), checkpoint(1, [], WITH_CHANGES)],
    new WeakMap(),
    {},
  );
  const found: ShownChanges = new WeakMap();
  const lookBack = (height: number) => Promise.resolve([checkpoint(height - 2, [], WITH_CHANGES)]);
  await requireBalanceChanges(source, [checkpoint(4, [EMPTY])], found, {}, lookBack);
  await requireBalanceChanges(source, [checkpoint(5, [EMPTY])], found, {});
});

test('accepts gas paid exactly from a shared object if the node shows other changes', async () => {
  for (const own of [emptyCoin, { effects: effects([object(COIN)]) }]) {
    const source = aSource({ empty: own, withChanges: { balanceChanges: changes } });
    await requireBalanceChanges(source, [checkpoint(2, [EMPTY], WITH_CHANGES, false)], new WeakMap(), {});
    await requireBalanceChanges(source, [checkpoint(2, [EMPTY], undefined, false)], shownBy(source), {});
    // Its effects look like those of a node that omits balance changes.
    const without = aSource({ empty: own });
    await expect(
      requireBalanceChanges(without, [checkpoint(2, [EMPTY], undefined, false)], shownBy(without), {}),
    ).rejects.toMatchObject(lacks);
  }
});

test('rejects a node that shows changes only in newer checkpoints', async () => {
  const source = aSource({ empty: emptyCoin, withChanges: { balanceChanges: changes } });
  const reading = [checkpoint(1, [EMPTY], undefined, false), checkpoint(2, [], WITH_CHANGES)];
  await expect(requireBalanceChanges(source, reading, new WeakMap(), {})).rejects.toMatchObject(lacks);
  const noneBefore = () => Promise.resolve([checkpoint(0, [])]);
  await expect(requireBalanceChanges(source, reading, new WeakMap(), {}, noneBefore)).rejects.toMatchObject(
    lacks,
  );
});

test('checks more transactions without changes than fit into one call', async () => {
  const gifts = Array.from({ length: 450 }, (_, place) => `gift ${place}` as TxHash);
  const shown = Object.fromEntries(gifts.map((gift) => [gift, emptyCoin]));
  const source = aSource({ ...shown, withChanges: { balanceChanges: changes } });
  await requireBalanceChanges(source, [checkpoint(2, gifts)], shownBy(source), {});
  const hiding = aSource({
    ...shown,
    [gifts.at(-1)!]: { ...emptyCoin, balanceChanges: changes },
    withChanges: { balanceChanges: changes },
  });
  await expect(
    requireBalanceChanges(hiding, [checkpoint(2, gifts)], shownBy(hiding), {}),
  ).rejects.toMatchObject(lacks);
});

test('rejects a node without any changes, also behind a URL that has shown some', async () => {
  const without = aSource({ empty: emptyCoin });
  const reading = [checkpoint(2, [EMPTY])];
  await expect(requireBalanceChanges(without, reading, new WeakMap(), {})).rejects.toMatchObject(lacks);
  await expect(requireBalanceChanges(without, reading, shownBy(without), {})).rejects.toMatchObject(lacks);
});

test('does not accept a change in a newer checkpoint as proof of an index', async () => {
  const source = aSource({ empty: emptyCoin, withChanges: { balanceChanges: changes } });
  await expect(
    requireBalanceChanges(source, [checkpoint(2, [EMPTY])], shownBy(source, 3), {}),
  ).rejects.toMatchObject(lacks);
});

test('remembers a change for catching up while the head is read', async () => {
  const source = aSource({
    empty: emptyCoin,
    withChanges: { balanceChanges: changes },
    ...Object.fromEntries([101, 102, 103].map((height) => [`at ${height}`, { balanceChanges: changes }])),
  });
  const shown: ShownChanges = new WeakMap();
  const atHead = (height: number) => checkpoint(height, [], `at ${height}` as TxHash);
  await requireBalanceChanges(source, [atHead(101)], shown, {});
  await requireBalanceChanges(source, [checkpoint(5, [], WITH_CHANGES)], shown, {});
  for (const height of [102, 103]) await requireBalanceChanges(source, [atHead(height)], shown, {});
  await requireBalanceChanges(source, [checkpoint(6, [EMPTY])], shown, {});
  expect(shown.get(source)?.map(({ height }) => height)).toEqual([5, 103]);
});

test('rejects a checkpoint that omits changes which the node shows by digest', async () => {
  const shown = { ...emptyCoin, balanceChanges: changes };
  const source = aSource({ empty: shown, withChanges: { balanceChanges: changes } });
  await expect(
    requireBalanceChanges(source, [checkpoint(2, [EMPTY])], shownBy(source), {}),
  ).rejects.toMatchObject(lacks);
});
