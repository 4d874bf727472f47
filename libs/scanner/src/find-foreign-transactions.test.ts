import { expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { Actor, RangeRead } from '@opentill/chain/chain-reader';
import type { CandidateTransfer, TokenContract, TxHash } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import { findForeign } from './find-foreign-transactions.ts';

const [HOT, OTHER, ALICE, BOB] = ['hot', 'other', 'alice', 'bob'] as Address[];
const [USDC, USDT] = ['USDC', 'USDT'] as TokenContract[];
const HEADER: BlockHeader = {
  height: 5,
  hash: 'five' as BlockHash,
  parentHash: 'four' as BlockHash,
  timeSeconds: 50,
};

function moves(
  txHash: string,
  [from, to]: readonly [Address | undefined, Address | undefined],
  amount: bigint,
  contract = USDC,
): CandidateTransfer {
  return {
    txHash: txHash as TxHash,
    blockHash: HEADER.hash,
    blockHeight: HEADER.height,
    indexInBlock: 0,
    contract: contract!,
    from: from!,
    to: to!,
    amountBaseUnits: baseUnits(amount),
  };
}

async function found(
  transfers: readonly CandidateTransfer[],
  acted: readonly string[] = [],
  actsOf?: RangeRead['actsOf'],
) {
  const actors = acted.map((txHash): Actor => ({ txHash: txHash as TxHash, wallet: HOT!, blockHeight: 5 }));
  const range = { headers: [HEADER], transfers, ...(actsOf === undefined ? { actors } : { actsOf }) };
  const scanning = {
    network: { family: 'SUI', chain: 'SUI' },
    store: {
      hotWallets: async () => new Set([HOT]),
      isRestored: async () => false,
      findOwn: async (_: unknown, hashes: readonly TxHash[]) =>
        new Set(hashes.filter((hash) => hash.startsWith('own'))),
    },
  };
  return (await findForeign(scanning as never, range)).map(({ txHash, moved }) => ({
    txHash,
    moved: moved.map(({ contract, to, amountBaseUnits }) => `${amountBaseUnits} ${contract} to ${to}`),
  }));
}

it("records all movements of a transaction, the wallet's own first", async () => {
  const transfers = [
    moves('theft', [OTHER, BOB], 9n),
    moves('theft', [HOT, ALICE], 1n),
    moves('theft', [HOT, BOB], 2n),
    moves('theft', [HOT, BOB], 3n, USDT),
    moves('another', [OTHER, ALICE], 4n),
  ];
  expect(await found(transfers)).toEqual([
    { txHash: 'theft', moved: ['1 USDC to alice', '2 USDC to bob', '3 USDT to bob', '9 USDC to bob'] },
  ]);
});

it('omits movements to the wallet itself and of amount zero', async () => {
  const transfers = [moves('change', [HOT, HOT], 5n), moves('change', [HOT, ALICE], 0n)];
  expect(await found(transfers)).toEqual([{ txHash: 'change', moved: [] }]);
});

it("finds transactions in which the wallet only acted, but not the gateway's own", async () => {
  const transfers = [moves('sponsored', [OTHER, ALICE], 5n), moves('own', [HOT, ALICE], 6n)];
  expect(await found(transfers, ['sponsored', 'own', 'empty'])).toEqual([
    { txHash: 'sponsored', moved: ['5 USDC to alice'] },
    { txHash: 'empty', moved: [] },
  ]);
});

it('records only actors that the reader names if it searches for wallets itself', async () => {
  const transfers = [moves('theft', [HOT, ALICE], 1n), moves('strangers', [HOT, BOB], 2n)];
  const asked: ReadonlySet<Address>[] = [];
  const actsOf: RangeRead['actsOf'] = (wallets) => {
    asked.push(wallets);
    return ['theft', 'own'].map((txHash) => ({ txHash: txHash as TxHash, wallet: HOT!, blockHeight: 5 }));
  };
  expect(await found(transfers, [], actsOf)).toEqual([{ txHash: 'theft', moved: ['1 USDC to alice'] }]);
  expect(asked).toEqual([new Set([HOT])]);
});
