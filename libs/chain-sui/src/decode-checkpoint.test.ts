import { describe, expect, it } from 'vitest';
import type { GrpcTypes } from '@mysten/sui/grpc';
import type { CandidateTransfer } from '@opentill/chain/transfer';
import { actorsOf, provenTransfer, transfersOf } from './checkpoint-transfers.ts';
import { decodeCheckpoint, decodeHeader, decodeTransaction } from './decode-checkpoint.ts';
import type { Reading } from './reading.ts';

const DIGEST = 'CbkhN6W6Kcw5vueryvknRRRMcrX86SueMkfbYFg6N2uJ';
const PARENT = '4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S';
const USDC = '0xdba34672e30cb065b1f93e3ab55318768fd6fef66c15942c9f7cb846e2f900e7::usdc::USDC';
const SUI = `0x${'2'.padStart(64, '0')}::sui::SUI`;
const [A, B, C, SPONSOR] = ['a', 'b', 'c', 'd'].map((digit) => `0x${digit.repeat(64)}`) as [
  string,
  string,
  string,
  string,
];
const SYSTEM = `0x${'0'.repeat(64)}`;

type Change = readonly [address: string, coinType: string, amount: string];

function executed(
  changes: readonly Change[],
  {
    success = true,
    sender = A,
    owner = sender,
    gas = 10n,
  }: Partial<{
    success: boolean;
    sender: string;
    owner: string;
    gas: bigint;
  }> = {},
): GrpcTypes.ExecutedTransaction {
  return {
    digest: DIGEST,
    transaction: { sender, gasPayment: { objects: [], owner } },
    effects: {
      status: { success },
      gasUsed: { computationCost: gas > 0n ? gas : 0n, storageCost: 0n, storageRebate: gas < 0n ? -gas : 0n },
    },
    balanceChanges: changes.map(([address, coinType, amount]) => ({ address, coinType, amount })),
  } as unknown as GrpcTypes.ExecutedTransaction;
}

function checkpoint(
  transactions: readonly GrpcTypes.ExecutedTransaction[],
  changes = {},
): GrpcTypes.Checkpoint {
  return {
    sequenceNumber: 7n,
    digest: DIGEST,
    summary: {
      epoch: 3n,
      timestamp: { seconds: 1_700_000_000n, nanos: 250_000_000 },
      previousDigest: PARENT,
      totalNetworkTransactions: 99n,
    },
    transactions,
    ...changes,
  } as unknown as GrpcTypes.Checkpoint;
}

const coins = new Set([USDC, SUI]);
const reading: Pick<Reading, 'chain' | 'proofs'> = { chain: 'SUI_TEST', proofs: new WeakMap() };
function proofOf(candidate: CandidateTransfer) {
  const proof = reading.proofs.get(candidate);
  return (
    proof && {
      transfer: provenTransfer(reading.chain, candidate, proof),
      isVerified: proof.isVerified,
    }
  );
}
const refused = { code: 'INCONSISTENT_ANSWER', retryable: true };

describe('decodeHeader', () => {
  it('decodes height, digest, parent, epoch and time of a checkpoint', () => {
    expect(decodeHeader(checkpoint([]), 7)).toEqual({
      height: 7,
      hash: DIGEST,
      parentHash: PARENT,
      timeSeconds: 1_700_000_000,
      timeMs: 1_700_000_000_250,
      epoch: 3,
      totalTransactions: 99,
    });
  });

  it('rejects a header with a missing field or another height', () => {
    const wrong: readonly [GrpcTypes.Checkpoint | undefined, number][] = [
      [undefined, 7],
      [checkpoint([]), 8],
      [checkpoint([], { digest: undefined }), 7],
      [checkpoint([], { digest: '0xabc' }), 7],
      [checkpoint([], { summary: undefined }), 7],
      [checkpoint([], { sequenceNumber: 2n ** 60n }), 7],
      [checkpoint([], { summary: { ...checkpoint([]).summary, previousDigest: undefined } }), 7],
      [checkpoint([], { summary: { ...checkpoint([]).summary, timestamp: undefined } }), 7],
    ];
    for (const [raw, wanted] of wrong)
      expect(() => decodeHeader(raw, wanted)).toThrow(expect.objectContaining(refused));
  });
});

describe('transfers of a checkpoint', () => {
  const most = 2n ** 64n - 1n;
  const decoded = decodeCheckpoint(
    checkpoint([
      executed([], { sender: SYSTEM, gas: 0n }),
      // Nodes return balance changes in any order.
      executed([
        [C, USDC, `${most}`],
        [A, SUI, '-10'],
        [A, USDC, `-${most + 5n}`],
        [B, USDC, '5'],
        [B, '0x2::other::COIN', '77'],
      ]),
      executed([[B, USDC, '1']], { success: false }),
      executed(
        [
          [SPONSOR, SUI, '-3'],
          [B, SUI, '4'],
          [A, SUI, '-4'],
        ],
        { owner: SPONSOR },
      ),
    ]),
    coins,
    7,
  );

  it('lists increases of configured coins in successful transactions with their payer', () => {
    const transfers = transfersOf(reading, decoded, true);
    expect(
      transfers.map(({ contract, from, to, amountBaseUnits }) => ({ contract, from, to, amountBaseUnits })),
    ).toEqual([
      { contract: USDC, from: A, to: B, amountBaseUnits: 5n },
      { contract: USDC, from: A, to: C, amountBaseUnits: most },
      { contract: null, from: A, to: B, amountBaseUnits: 4n },
    ]);
    const places = transfers.map(({ indexInBlock }) => indexInBlock);
    expect(places).toEqual([...new Set(places)].toSorted((a, b) => a - b));
    for (const transfer of transfers)
      expect(proofOf(transfer)).toMatchObject({
        isVerified: true,
        transfer: { position: `${transfer.to}:${transfer.contract ?? SUI}`, feeBaseUnits: 10n },
      });
  });

  it('lists senders, sponsors and owners who gave coins as actors', () => {
    const wallets = actorsOf(decoded).map(({ wallet }) => wallet);
    expect(wallets.toSorted()).toEqual([A, A, A, SPONSOR].toSorted());
  });

  it('lists transactions without balance changes that succeeded or cost gas', () => {
    const muteOf = (...how: Parameters<typeof executed>) =>
      decodeCheckpoint(checkpoint([executed(...how)]), coins).withoutChanges;
    expect(muteOf([])).toEqual([{ txHash: DIGEST, isFree: false }]);
    expect(muteOf([], { gas: 0n })).toEqual([{ txHash: DIGEST, isFree: true }]);
    expect(muteOf([], { success: false })).toEqual([{ txHash: DIGEST, isFree: false }]);
    expect(muteOf([], { success: false, gas: 0n })).toEqual([]);
    expect(muteOf([[B, '0x2::other::COIN', '1']], { gas: 0n })).toEqual([]);
  });

  it('recognises a configured coin in every spelling of its type', () => {
    const short: readonly Change[] = [
      [B, '0x2::sui::SUI', '4'],
      [C, USDC.slice(2), '5'],
      [C, '0x0002::sui::SUI', '6'],
      [B, USDC.replace('dba', 'DBA'), '7'],
      [B, '0x2::coin::Coin<0x2::sui::SUI>', '8'],
      [B, '0x3::usdc::USDC', '9'],
    ];
    const found = transfersOf(reading, decodeCheckpoint(checkpoint([executed(short)]), coins), true);
    expect(found.map(({ contract, to, amountBaseUnits }) => ({ contract, to, amountBaseUnits }))).toEqual([
      { contract: null, to: B, amountBaseUnits: 4n },
      { contract: USDC, to: B, amountBaseUnits: 7n },
      { contract: null, to: C, amountBaseUnits: 6n },
      { contract: USDC, to: C, amountBaseUnits: 5n },
    ]);
    expect(found.map((transfer) => proofOf(transfer)!.transfer.position)).toEqual([
      `${B}:${SUI}`,
      `${B}:${USDC}`,
      `${C}:${SUI}`,
      `${C}:${USDC}`,
    ]);
    // The same for a single transaction, which decides the outcome of an own payment.
    expect(decodeTransaction(executed([[B, '0x2::sui::SUI', '4']])).changes).toEqual([
      { address: B, coinType: SUI, amount: 4n },
    ]);
  });

  it('rejects an invalid amount or address and a repeated balance change', () => {
    const wrong: readonly (readonly Change[])[] = [
      [[B, USDC, '1.5']],
      [[B, USDC, '']],
      [['0x2', USDC, '1']],
      [
        [B, USDC, '1'],
        [B, USDC, '2'],
      ],
      [
        [B, SUI, '1'],
        [B, '0x2::sui::SUI', '2'],
      ],
      [[B, 'usdc', '1']],
      [[B, '', '1']],
    ];
    for (const changes of wrong)
      expect(() => decodeTransaction(executed(changes), coins)).toThrow(expect.objectContaining(refused));
    expect(() => decodeTransaction({ ...executed([[B, USDC, '1']]), digest: 'x' })).toThrow(
      expect.objectContaining(refused),
    );
  });

  it('reports a zero fee when the storage rebate exceeds the gas cost', () => {
    const [transfer] = transfersOf(
      reading,
      decodeCheckpoint(checkpoint([executed([[B, USDC, '1']], { gas: -50n })]), coins),
      false,
    );
    expect(proofOf(transfer!)).toMatchObject({ transfer: { feeBaseUnits: 0n } });
  });
});
