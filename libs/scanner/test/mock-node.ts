import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import type { ChainReader, RangeRead } from '@opentill/chain/chain-reader';
import type { TransactionFate } from '@opentill/chain/own-transaction';
import { readerError } from '@opentill/chain/reader-error';
import type {
  CandidateTransfer,
  TokenContract,
  Transfer,
  TransferPosition,
  TxHash,
} from '@opentill/chain/transfer';
import type { Chain } from '@opentill/domain/chains';
import { baseUnits } from '@opentill/domain/money';

export const MOCK_TOKEN = '0xtoken' as TokenContract;

/** Mining the same object again mines the same transaction. */
export interface MockTx {
  readonly hash: TxHash;
  /** Base units of the token, or of the native coin; at most one payment is native. */
  readonly pays: readonly { readonly to: Address; readonly amount: bigint; readonly isNative?: boolean }[];
}

interface MockBlock extends BlockHeader {
  readonly txs: readonly MockTx[];
}

export interface MockNodeFaults {
  lagBlocks: number;
  readonly hiddenFromSeen: Set<TxHash>;
  /** Missing in logs and receipts of verified reads. */
  readonly hiddenFromVerified: Set<TxHash>;
  readonly failed: Set<TxHash>;
  beforeCall: ((method: string) => void) | undefined;
  finalityStalled: boolean;
  readonly withoutReceipt: Set<TxHash>;
  /** Milliseconds; concurrent reads end in any order. */
  latencyMs: ((method: string) => number) | undefined;
}

export type MockNode = ReturnType<typeof createMockNode>;

type ReadKind = 'seen' | 'branch' | 'verified';

const SECONDS_PER_BLOCK = 12;

/**
 * An in-memory chain, for situations that a devnet cannot produce on time. `isSparse`: returns of a range only the last
 * header, as an EVM reader does.
 */
export function createMockNode(chain: Chain, { isSparse = false }: { readonly isSparse?: boolean } = {}) {
  const blocks: MockBlock[] = [];
  let branch = 0;
  let finalized = 0;
  let claimed: number | undefined;
  const calls: string[] = [];
  const reads: { readonly method: string; readonly from: number; readonly to: number }[] = [];
  /** Number of receipts and of sources, as `3 by one`. */
  const fateReads: string[] = [];
  let underWay = 0;
  let callsAtOnce = 0;
  const faults: MockNodeFaults = {
    lagBlocks: 0,
    hiddenFromSeen: new Set(),
    hiddenFromVerified: new Set(),
    failed: new Set(),
    withoutReceipt: new Set(),
    beforeCall: undefined,
    finalityStalled: false,
    latencyMs: undefined,
  };

  function mine(...txs: readonly MockTx[]): BlockHeader {
    const height = blocks.length;
    const block: MockBlock = {
      height,
      hash: `0xblock-${height}-${branch}` as BlockHash,
      parentHash: blocks.at(-1)?.hash ?? ('0xgenesis' as BlockHash),
      timeSeconds: 1_700_000_000 + height * SECONDS_PER_BLOCK + branch,
      txs,
    };
    blocks.push(block);
    return headerOf(block);
  }
  mine();

  const visible = (): readonly MockBlock[] => blocks.slice(0, Math.max(1, blocks.length - faults.lagBlocks));

  function candidates(block: MockBlock): readonly CandidateTransfer[] {
    let indexInBlock = 0;
    return block.txs.flatMap((tx) =>
      tx.pays.map(({ to, amount, isNative = false }): CandidateTransfer => ({
        txHash: tx.hash,
        blockHash: block.hash,
        blockHeight: block.height,
        indexInBlock: indexInBlock++,
        contract: isNative ? null : MOCK_TOKEN,
        from: '0xpayer' as Address,
        to,
        amountBaseUnits: baseUnits(amount),
      })),
    );
  }

  function prove(block: MockBlock, candidate: CandidateTransfer): Transfer | undefined {
    const all = candidates(block);
    const stated = all.find((transfer) => transfer.indexInBlock === candidate.indexInBlock);
    if (faults.failed.has(candidate.txHash) || stated?.txHash !== candidate.txHash) return undefined;
    const firstOfTx = all.findIndex((transfer) => transfer.txHash === candidate.txHash);
    return {
      ...candidate,
      chain,
      position: (candidate.contract === null
        ? 'value'
        : `log:${candidate.indexInBlock - firstOfTx}`) as TransferPosition,
      feeBaseUnits: baseUnits(21_000n),
    };
  }

  function range(from: number, to: number): readonly MockBlock[] {
    const read = visible().slice(from, to + 1);
    if (from < 0 || to < from) throw new RangeError('not a range');
    if (read.length < to - from + 1) throw readerError('BLOCK_NOT_FOUND', 'beyond the head', { from, to });
    return read;
  }

  function readRange(from: number, to: number, kind: ReadKind, headersAt: readonly number[] = []): RangeRead {
    const read = range(from, to);
    const hidden = kind === 'verified' ? faults.hiddenFromVerified : faults.hiddenFromSeen;
    const transfers = read.flatMap(candidates).filter((transfer) => !hidden.has(transfer.txHash));
    if (!isSparse || kind === 'branch') return { headers: read.map(headerOf), transfers };
    const below = read[0]!.parentHash;
    const returned = read.filter(({ height }) => height === to || headersAt.includes(height));
    return { headers: returned.map(headerOf), below, transfers };
  }

  // async, so that an error of beforeCall becomes a rejection, as with a real node
  async function call<T>(method: string, work: () => T): Promise<T> {
    calls.push(method);
    underWay += 1;
    callsAtOnce = Math.max(callsAtOnce, underWay);
    try {
      await Promise.resolve();
      faults.beforeCall?.(method);
      const latencyMs = faults.latencyMs?.(method);
      if (latencyMs !== undefined) await new Promise((resolve) => setTimeout(resolve, latencyMs));
      return work();
    } finally {
      underWay -= 1;
    }
  }

  function readFor(
    method: string,
    from: number,
    to: number,
    kind: ReadKind,
    headersAt?: readonly number[],
  ): Promise<RangeRead> {
    reads.push({ method, from, to });
    return call(method, () => readRange(from, to, kind, headersAt));
  }

  const reader: ChainReader = {
    chain,
    checkNetwork: () => call('checkNetwork', () => undefined),
    head: () =>
      call('head', () => {
        const head = headerOf(visible().at(-1)!);
        return claimed === undefined ? head : { ...head, height: claimed, hash: '0xclaimed' as BlockHash };
      }),
    finalized: () =>
      call('finalized', () => {
        if (faults.finalityStalled) throw readerError('FINALITY_UNAVAILABLE', 'stalled');
        return { ...headerOf(blocks[finalized] ?? blocks.at(-1)!), height: finalized };
      }),
    headers: (from, to) => call('headers', () => range(from, to).map(headerOf)),
    readSeen: (from, to, { everyBlock = false } = {}) =>
      readFor('readSeen', from, to, everyBlock ? 'branch' : 'seen'),
    readVerified: (from, to, _expected, { headersAt } = {}) =>
      readFor('readVerified', from, to, 'verified', headersAt),
    confirmTransfers: (asked, { headers: known = [] } = {}) =>
      call('confirmTransfers', () => {
        const confirmed: Transfer[] = [];
        const refuted: CandidateTransfer[] = [];
        const headers: BlockHeader[] = [];
        for (const candidate of asked) {
          const block = visible().find((b) => b.txs.some((tx) => tx.hash === candidate.txHash));
          if (block === undefined) throw readerError('BLOCK_NOT_FOUND', 'in no block');
          if (block.hash !== candidate.blockHash)
            throw readerError('INCONSISTENT_ANSWER', 'in another block');
          const proven = prove(block, candidate);
          if (proven === undefined) refuted.push(candidate);
          else confirmed.push(proven);
          if (![...known, ...headers].some(({ hash }) => hash === block.hash)) headers.push(headerOf(block));
        }
        return { confirmed, refuted, headers };
      }),
    readFates: async (own, { atHeight = 0, byOneSource = false } = {}) => {
      if (own.length === 0) return { fates: [], disputed: [] };
      fateReads.push(`${own.length} by ${byOneSource ? 'one' : 'two'}`);
      return call('readFates', () => {
        range(atHeight, atHeight);
        const fates = own.flatMap(({ txHash, to, contract }): readonly TransactionFate[] => {
          const block = visible().find(({ txs }) => txs.some((tx) => tx.hash === txHash));
          if (block === undefined || faults.withoutReceipt.has(txHash)) return [];
          const succeeded = !faults.failed.has(txHash);
          const moved = candidates(block).filter(
            (candidate) =>
              candidate.txHash === txHash && candidate.to === to && candidate.contract === contract,
          );
          const deliveredBaseUnits = succeeded
            ? moved.reduce((sum, { amountBaseUnits }) => sum + amountBaseUnits, 0n)
            : 0n;
          const { height: blockHeight, hash: blockHash } = block;
          return [{ txHash, blockHeight, blockHash, succeeded, deliveredBaseUnits, feeBaseUnits: 21_000n }];
        });
        return { fates, disputed: [] };
      });
    },
    confirmBlock: ({ height, hash }) =>
      call('confirmBlock', () => {
        if (range(height, height)[0]?.hash !== hash)
          throw readerError('INCONSISTENT_ANSWER', 'another block');
      }),
  };

  return {
    reader,
    faults,
    calls,
    reads,
    fateReads,
    callsAtOnce: () => callsAtOnce,
    mine,
    reorg(depth: number, ...replacement: readonly (readonly MockTx[])[]): void {
      blocks.splice(blocks.length - depth, depth);
      branch += 1;
      for (const txs of replacement) mine(...txs);
    },
    finalize(height: number): void {
      finalized = height;
    },
    head: () => headerOf(blocks.at(-1)!),
    /** A head of this height without blocks; undefined restores the real head. */
    claimHead(height: number | undefined): void {
      claimed = height;
    },
    transactions: () => blocks.flatMap(({ txs, height }) => txs.map(({ hash }) => ({ hash, height }))),
    transfers: (): readonly Transfer[] =>
      blocks.flatMap((block) => candidates(block).flatMap((c) => prove(block, c) ?? [])),
  };
}

function headerOf({ height, hash, parentHash, timeSeconds }: MockBlock): BlockHeader {
  return { height, hash, parentHash, timeSeconds };
}

let lastTx = 0;

export function aTx(...pays: MockTx['pays']): MockTx {
  lastTx += 1;
  return { hash: `0xtx-${lastTx}` as TxHash, pays };
}
