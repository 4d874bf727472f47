import { expect, it } from 'vitest';
import type { BlockHeader } from '@opentill/chain/block';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { TransactionFate } from '@opentill/chain/own-transaction';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { buildChain, forkAt } from '../test/build-chain.ts';
import { askFates } from './ask-fates.ts';
import type { ChainState } from './chain-state.ts';
import type { OpenTransaction } from './judge-fates.ts';

const chain = buildChain({ to: 130 });
const branch = forkAt(chain, 104, { branch: 'b', to: 130 });
const AFTER: ChainState = {
  head: chain[130]!,
  finalizedHeight: null,
  verifiedHeight: 110,
  blocks: [100, 110, 130].map((height) => chain[height]!),
};
const fateIn = ({ height, hash }: BlockHeader): TransactionFate => ({
  txHash: `0xtx-${height}` as TxHash,
  blockHeight: height,
  blockHash: hash,
  succeeded: true,
  deliveredBaseUnits: 0n,
  feeBaseUnits: 0n,
});

/** `blocks`: of both sources. `seen`: the block that the first one shows in addition. */
async function otherBlocks(
  blocks: readonly BlockHeader[],
  { mined, seen }: { readonly mined: readonly BlockHeader[]; readonly seen?: BlockHeader },
): Promise<readonly BlockHeader[]> {
  const reader: Partial<ChainReader> = {
    readFates: (own) => {
      const asked = new Set(own.map(({ txHash }) => txHash));
      const fates = mined.map(fateIn).filter(({ txHash }) => asked.has(txHash));
      return Promise.resolve({ fates, disputed: [] });
    },
    readVerified: (from, to) => Promise.resolve({ headers: blocks.slice(from, to + 1), transfers: [] }),
    headers: (height) => Promise.resolve(seen?.height === height ? [seen] : []),
    confirmBlock: ({ height, hash }) =>
      blocks[height]?.hash === hash
        ? Promise.resolve()
        : Promise.reject(readerError('INCONSISTENT_ANSWER', 'another block')),
  };
  const open = mined.map((block) => ({ txHash: fateIn(block).txHash, isTaken: true }) as OpenTransaction);
  const early = { fates: seen === undefined ? [] : [fateIn(seen)], disputed: [] };
  const moment = { after: AFTER, isReorganised: false, isVerifying: false };
  const answers = await askFates({ reader: reader as ChainReader }, moment, { open, early }, {});
  return [...answers.otherBlocks.values()];
}

it('accepts blocks below the verified one only from sources that have that one', async () => {
  expect(await otherBlocks(chain, { mined: [chain[107]!] })).toEqual([chain[107]]);
  // It forks below: its block 107 has no stored neighbour that would contradict it.
  expect(await otherBlocks(branch, { mined: [branch[107]!] })).toEqual([]);
  expect(await otherBlocks(branch, { mined: [branch[120]!] })).toEqual([branch[120]]);
});

it('accepts no block of one source that contradicts one of both', async () => {
  const mined = [chain[121]!];
  expect(await otherBlocks(chain, { mined, seen: chain[120]! })).toEqual([chain[121], chain[120]]);
  expect(await otherBlocks(chain, { mined, seen: branch[120]! })).toEqual([chain[121]]);
  expect(await otherBlocks(chain, { mined, seen: branch[121]! })).toEqual([chain[121]]);
});
