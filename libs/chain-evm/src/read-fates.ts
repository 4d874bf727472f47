import type { FateOptions, ReadOptions } from '@opentill/chain/chain-reader';
import type { FatesRead, OwnTransaction, TransactionFate } from '@opentill/chain/own-transaction';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { headHeightRequest, receiptRequest } from './block-requests.ts';
import { soundReceipt } from './confirm-transfers.ts';
import type { EvmReceipt } from './decode.ts';
import { decodeInteger, transferOf } from './decode.ts';
import type { Reading } from './reading.ts';
import type { EvmSource, EvmSources } from './sources.ts';

/**
 * What one source answered of a transaction. 'unsound': what is no receipt of it. 'foreign': the receipt of one that another
 * wallet sent; the source may be right, and whoever asks be wrong about whose it is.
 */
type Answer = TransactionFate | 'none' | 'unsound' | 'foreign';
type Account = ReadonlyMap<TxHash, Answer>;

/** Reads what became of own transactions; see ChainReader.readFates. */
export async function readFates(
  reading: Pick<Reading, 'hasStateSync' | 'onAlone'>,
  sources: EvmSources,
  own: readonly OwnTransaction[],
  { byOneSource = false, atHeight, neverAlone, ...options }: FateOptions,
): Promise<FatesRead> {
  if (own.length === 0) return { fates: [], disputed: [] };
  const ask = (source: EvmSource, askOptions: ReadOptions): Promise<Account> =>
    readAccount(reading, source, own, atHeight, askOptions);
  if (byOneSource) return agreedBy(own, [await askOneSource(sources, ask, options)]);
  const { onAlone } = reading;
  const said = await askTwoSources(sources, { ask, height: atHeight, onAlone, neverAlone }, options);
  return agreedBy(
    own,
    said.flatMap((one) => (one === undefined ? [] : [one.answer])),
  );
}

/** The first sound account of all transactions, else the last one that was sound of some. */
async function askOneSource(
  sources: EvmSources,
  ask: (source: EvmSource, options: ReadOptions) => Promise<Account>,
  options: ReadOptions,
): Promise<Account> {
  let partly: Account | undefined;
  try {
    return await sources.run(
      async (source, runOptions) => {
        const account = await ask(source, runOptions);
        const unsound = [...account].filter(([, answer]) => answer === 'unsound').map(([txHash]) => txHash);
        if (unsound.length === 0) return account;
        partly = account;
        throw readerError('INCONSISTENT_ANSWER', 'the node answered no receipts of the transactions', {
          txHashes: unsound,
        });
      },
      { ...options, hedge: true },
    );
  } catch (error) {
    // One transaction that every source gets wrong must not keep the others waiting.
    if (partly === undefined || !isReaderError(error, 'INCONSISTENT_ANSWER')) throw error;
    return partly;
  }
}

/** One batch, so one node: whether it has the block of `atHeight` speaks for its receipts. */
async function readAccount(
  reading: Pick<Reading, 'hasStateSync'>,
  source: EvmSource,
  own: readonly OwnTransaction[],
  atHeight: number | undefined,
  options: ReadOptions,
): Promise<Account> {
  // The height is asked for first: a node that had it before answered the receipts with all blocks up to it.
  const answers = await source.batch(
    [headHeightRequest(), ...own.map(({ txHash }) => receiptRequest(txHash))],
    options,
  );
  const height = decodeInteger(answers[0], 'eth_blockNumber');
  if (atHeight !== undefined && height < atHeight)
    throw readerError('BLOCK_NOT_FOUND', 'the node is behind the block', { height: atHeight, head: height });
  return new Map(
    own.map((transaction, place) => [transaction.txHash, fateIn(reading, transaction, answers[place + 1])]),
  );
}

function fateIn({ hasStateSync }: Pick<Reading, 'hasStateSync'>, own: OwnTransaction, raw: unknown): Answer {
  try {
    const receipt = soundReceipt(own.txHash, raw, hasStateSync);
    if (receipt === undefined) return 'none';
    return receipt.from === own.from ? fateOf(own, receipt) : 'foreign';
  } catch (error) {
    if (isReaderError(error, 'INCONSISTENT_ANSWER')) return 'unsound';
    throw error;
  }
}

function fateOf(own: OwnTransaction, receipt: EvmReceipt): TransactionFate {
  const { txHash, blockHeight, blockHash, succeeded, feeWei } = receipt;
  return {
    txHash,
    blockHeight,
    blockHash,
    succeeded,
    deliveredBaseUnits: deliveredBy(own, receipt),
    feeBaseUnits: feeWei,
  };
}

/** Of the native coin the hash itself vouches for receiver and value: they are part of what was signed. */
function deliveredBy(own: OwnTransaction, { succeeded, logs }: EvmReceipt): bigint {
  if (own.contract === null) return succeeded ? own.amountBaseUnits : 0n;
  const tokens = new Set([own.contract]);
  return logs.reduce((sum, log) => {
    const transfer = transferOf(log, tokens);
    return transfer?.from === own.from && transfer.to === own.to ? sum + transfer.amountBaseUnits : sum;
  }, 0n);
}

/**
 * What all accounts say alike. Which of two is right is never guessed. Of what another wallet sent no fate is told, by however
 * many: the row that names it as ours is wrong, and says nothing of the bytes that we signed.
 */
function agreedBy(own: readonly OwnTransaction[], accounts: readonly Account[]): FatesRead {
  const fates: TransactionFate[] = [];
  const disputed: TxHash[] = [];
  for (const { txHash } of own) {
    const [first, ...others] = accounts.map((account) => account.get(txHash));
    const isTold = first !== undefined && first !== 'unsound' && first !== 'foreign';
    if (!isTold || !others.every((other) => isSame(first, other))) disputed.push(txHash);
    else if (first !== 'none') fates.push(first);
  }
  return { fates, disputed };
}

function isSame(a: TransactionFate | 'none', b: Answer | undefined): boolean {
  if (typeof a === 'string' || typeof b !== 'object') return a === b;
  return (
    a.blockHash === b.blockHash &&
    a.blockHeight === b.blockHeight &&
    a.succeeded === b.succeeded &&
    a.deliveredBaseUnits === b.deliveredBaseUnits &&
    a.feeBaseUnits === b.feeBaseUnits
  );
}
