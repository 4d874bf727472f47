import { GrpcTypes } from '@mysten/sui/grpc';
import { expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/transfer';
import type { SuiSource, SuiSources } from '../sui-sources.ts';
import { signGathering, type GatheringDeps } from './gather-coins.ts';
import { decodeTransactionBytes } from './transaction-bytes.ts';

const WALLET = `0x${'a'.repeat(64)}` as Address;
const USDC = `0x${'b'.repeat(64)}::usdc::USDC` as TokenContract;
const DIGEST = '4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi';
const COIN = {
  objectId: `0x${'1'.repeat(64)}`,
  version: 7n,
  digest: DIGEST,
  owner: { kind: 1, address: WALLET },
  balance: 5n,
};

/** What a node says of a wallet with one coin of a token. */
interface Said {
  readonly coin?: Partial<Record<keyof typeof COIN, unknown>>;
  readonly suiInFunds?: bigint;
  readonly gasPriceMist?: bigint;
  readonly height?: number;
}

/** A node that says this, and keeps the transactions that are tried on it. */
function aSource(label: string, said: Said, tried: Uint8Array[]): SuiSource {
  const { coin = {}, suiInFunds = 40_000_000n, gasPriceMist = 500n, height = 9 } = said;
  const checkpoint = {
    sequenceNumber: BigInt(height),
    digest: DIGEST,
    summary: {
      epoch: 3n,
      timestamp: { seconds: 1_800_000_000n, nanos: 0 },
      totalNetworkTransactions: 90n,
      previousDigest: DIGEST,
    },
  };
  const answers = {
    ledger: {
      getCheckpoint: () => ({ response: { checkpoint } }),
      getEpoch: () => ({ response: { epoch: { epoch: 3n, referenceGasPrice: gasPriceMist } } }),
    },
    state: {
      listOwnedObjects: () => ({ response: { objects: [{ ...COIN, ...coin }] } }),
      getBalance: () => ({ response: { balance: { coinBalance: 0n, addressBalance: suiInFunds } } }),
    },
    execution: {
      simulateTransaction: ({ transaction }: { transaction: GrpcTypes.Transaction }) => {
        tried.push(transaction.bcs!.value!);
        return { response: { transaction: { effects: GrpcTypes.TransactionEffects.create({}) } } };
      },
    },
  };
  const ask = async (question: (services: typeof answers, call: object) => unknown) => question(answers, {});
  return { label, ask } as unknown as SuiSource;
}

/** The transaction that two nodes which say this have the wallet try, if they have it try any. */
async function triedAfter(one: Said, other: Said) {
  const tried: Uint8Array[] = [];
  const all = [aSource('one', one, tried), aSource('other', other, tried)];
  const sources = {
    all: () => all,
    witnesses: () => all,
    noteFault: () => undefined,
    run: (work: (source: SuiSource, options: object) => unknown) => work(all[0]!, {}),
  } as unknown as SuiSources;
  const deps = {
    chainId: DIGEST,
    maxGasBudgetMist: 50_000_000n,
    maxGasPriceMist: 1_000n,
    onNotGathered: () => undefined,
  } as unknown as GatheringDeps;
  const validity = {
    expiresMs: 1,
    uniqueMs: 1,
    reference: { height: 9, hash: DIGEST as never },
    epochs: { first: 3, last: 3 },
  };
  expect(await signGathering(sources, deps, WALLET, USDC, validity, {})).toBeUndefined();
  return tried.map((bytes) => decodeTransactionBytes(bytes).gasData);
}

test('coins that two nodes name alike are gathered by what both of them say there is for it, at the higher price', async () => {
  expect(await triedAfter({}, {})).toMatchObject([{ price: '500', budget: '40000000' }]);
  const poorer = { suiInFunds: 30_000_000n };
  const dearer = { gasPriceMist: 700n };
  expect(await triedAfter(poorer, dearer)).toMatchObject([{ price: '700', budget: '30000000' }]);
  expect(await triedAfter(dearer, poorer)).toMatchObject([{ price: '700', budget: '30000000' }]);
});

test.each<readonly [string, Said]>([
  ['another version of it', { coin: { version: 8n } }],
  ['another digest of it', { coin: { digest: `5${DIGEST.slice(1)}` } }],
  ['more in it', { coin: { balance: 6n } }],
  ['another coin', { coin: { objectId: `0x${'2'.repeat(64)}` } }],
  ['that it is ordered by consensus', { coin: { owner: { kind: 5, address: WALLET, version: 2n } } }],
  ['a coin of nothing', { coin: { balance: 0n } }],
  ['nothing to pay for it with', { suiInFunds: 0n }],
  ['a price above all bounds', { gasPriceMist: 1_001n }],
  ['a time before it', { height: 8 }],
])('a coin is not gathered while one of two nodes names %s', async (_, said) => {
  expect(await triedAfter({}, said)).toEqual([]);
  expect(await triedAfter(said, {})).toEqual([]);
});
