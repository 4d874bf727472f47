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

interface NodeReport {
  readonly coin?: Partial<Record<keyof typeof COIN, unknown>>;
  readonly suiInFunds?: bigint;
  readonly gasPriceMist?: bigint;
  readonly height?: number;
}

function aSource(label: string, reported: NodeReport, tried: Uint8Array[]): SuiSource {
  const { coin = {}, suiInFunds = 40_000_000n, gasPriceMist = 500n, height = 9 } = reported;
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

async function triedAfter(one: NodeReport, other: NodeReport) {
  const tried: Uint8Array[] = [];
  const all = [aSource('one', one, tried), aSource('other', other, tried)];
  const sources = {
    all: () => all,
    quorumSources: () => all,
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

test('gathers agreed coins with the lower funds and the higher gas price', async () => {
  expect(await triedAfter({}, {})).toMatchObject([{ price: '500', budget: '40000000' }]);
  const poorer = { suiInFunds: 30_000_000n };
  const dearer = { gasPriceMist: 700n };
  expect(await triedAfter(poorer, dearer)).toMatchObject([{ price: '700', budget: '30000000' }]);
  expect(await triedAfter(dearer, poorer)).toMatchObject([{ price: '700', budget: '30000000' }]);
});

test.each<readonly [string, NodeReport]>([
  ['another version', { coin: { version: 8n } }],
  ['another digest', { coin: { digest: `5${DIGEST.slice(1)}` } }],
  ['a higher balance', { coin: { balance: 6n } }],
  ['another coin', { coin: { objectId: `0x${'2'.repeat(64)}` } }],
  ['consensus ordering', { coin: { owner: { kind: 5, address: WALLET, version: 2n } } }],
  ['an empty coin', { coin: { balance: 0n } }],
  ['no SUI for the fee', { suiInFunds: 0n }],
  ['a gas price above the cap', { gasPriceMist: 1_001n }],
  ['an older head', { height: 8 }],
])('does not gather a coin while one of two nodes reports %s', async (_, reported) => {
  expect(await triedAfter({}, reported)).toEqual([]);
  expect(await triedAfter(reported, {})).toEqual([]);
});
