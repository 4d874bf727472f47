import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { readTransactions } from '../read-transactions.ts';
import { createSuiSources, type SuiSource, type SuiSourcesNetwork } from '../sui-sources.ts';
import { digestOf } from './transaction-bytes.ts';

export interface EpochAt {
  readonly epoch: number;
  readonly startMs: number;
  readonly durationMs: number;
}

export interface SuiWalletHistoryReader {
  /** Asks any source that has them; the digest verifies them. Missing ones are left out. */
  readBytes(txHashes: readonly TxHash[], options?: ReadOptions): Promise<ReadonlyMap<TxHash, Uint8Array>>;
  /** Searched downwards from `newest`. Two sources must agree if several are configured. */
  epochAt(timeMs: number, newest: number, options?: ReadOptions): Promise<EpochAt>;
}

const BYTES_PATHS = ['digest', 'transaction.bcs'];
const EPOCH_MASK = { paths: ['epoch', 'start', 'system_state.parameters.epoch_duration_ms'] };
/** Older than any backup. */
const EPOCHS_BACK_MAX = 400;

export function createSuiWalletHistoryReader(network: SuiSourcesNetwork): SuiWalletHistoryReader {
  const sources = createSuiSources(network, {});
  return {
    async readBytes(txHashes, options = {}) {
      const found = new Map<TxHash, Uint8Array>();
      let fault: Error | undefined;
      for (const source of sources.all()) {
        const missing = txHashes.filter((txHash) => !found.has(txHash));
        if (missing.length === 0) break;
        try {
          const transactions = await readTransactions(source, missing, options, BYTES_PATHS);
          for (const [place, txHash] of missing.entries()) {
            const bytes = transactions[place]?.transaction?.bcs?.value;
            if (bytes !== undefined && digestOf(bytes) === txHash) found.set(txHash, bytes);
          }
        } catch (error) {
          if (isReaderError(error, 'READ_ABORTED')) throw error;
          fault = error instanceof Error ? error : new TypeError('not an error', { cause: error }); // try the next source
        }
      }
      if (found.size === 0 && txHashes.length > 0 && fault !== undefined) throw fault;
      return found;
    },
    async epochAt(timeMs, newest, options = {}) {
      const ask = (source: SuiSource, own: ReadOptions): Promise<EpochAt> =>
        lookBack(source, timeMs, newest, own);
      const question = { ask, height: undefined, onSingleSource: () => undefined, requireTwoSources: true };
      const [first, second] = await askTwoSources(sources, question, options);
      if (second !== undefined && second.answer.epoch !== first.answer.epoch)
        throw readerError('INCONSISTENT_ANSWER', 'two sources return different epochs for a time', {
          sources: [first.source.label, second.source.label],
          timeMs,
        });
      return first.answer;
    },
  };
}

async function lookBack(
  source: SuiSource,
  timeMs: number,
  newest: number,
  options: ReadOptions,
): Promise<EpochAt> {
  for (let epoch = newest; epoch >= Math.max(0, newest - EPOCHS_BACK_MAX); epoch -= 1) {
    const found = await readEpochAt(source, epoch, options);
    if (found.startMs <= timeMs || epoch === 0) return found;
  }
  throw readerError('BLOCK_NOT_FOUND', 'the time is before the oldest epoch that is searched', {
    source: source.label,
    timeMs,
  });
}

async function readEpochAt(source: SuiSource, wanted: number, options: ReadOptions): Promise<EpochAt> {
  const { response } = await source.ask(
    ({ ledger }, call) => ledger.getEpoch({ epoch: BigInt(wanted), readMask: EPOCH_MASK }, call),
    options,
  );
  const { epoch, start, systemState } = response.epoch ?? {};
  const durationMs = systemState?.parameters?.epochDurationMs;
  if (epoch !== BigInt(wanted) || start === undefined || durationMs === undefined)
    throw readerError('INCONSISTENT_ANSWER', 'the node returned an epoch without its start', {
      source: source.label,
      epoch: wanted,
    });
  return { epoch: wanted, startMs: Number(start.seconds) * 1_000, durationMs: Number(durationMs) };
}
