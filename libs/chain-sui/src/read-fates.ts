import type { FateOptions, ReadOptions } from '@opentill/chain/chain-reader';
import type { FatesRead, OwnTransaction, TransactionFate } from '@opentill/chain/own-transaction';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { askFates, type FateReport, type FateAnswer } from '@opentill/chain-sources/ask-fates';
import { coinTypeOf } from './coin-type.ts';
import type { SuiTransaction } from './decode-checkpoint.ts';
import type { SuiHeader } from './sui-header.ts';
import { decodeTransaction, isDigest, hasNoChanges } from './decode-checkpoint.ts';
import { readHeader } from './read-header.ts';
import { readTransactions } from './read-transactions.ts';
import type { Reading } from './reading.ts';
import type { SuiSource, SuiSources } from './sui-sources.ts';

export async function readFates(
  reading: Pick<Reading, 'onSingleSource' | 'tailOf'>,
  sources: SuiSources,
  own: readonly OwnTransaction[],
  options: FateOptions,
): Promise<FatesRead> {
  const ask = (source: SuiSource, askOptions: ReadOptions): Promise<FateReport> =>
    readReport(reading, sources, source, { own, atHeight: options.atHeight }, askOptions);
  return askFates(sources, own, { ask, onSingleSource: reading.onSingleSource }, options);
}

/** Reads the head before the transactions: a node whose head is at the checkpoint has all transactions up to it. */
async function readReport(
  reading: Pick<Reading, 'tailOf'>,
  sources: SuiSources,
  source: SuiSource,
  { own, atHeight }: { readonly own: readonly OwnTransaction[]; readonly atHeight: number | undefined },
  options: ReadOptions,
): Promise<FateReport> {
  const { height } = await sources.readHead(source, options);
  if (atHeight !== undefined && height < atHeight)
    throw readerError('BLOCK_NOT_FOUND', 'the node is behind the checkpoint', {
      height: atHeight,
      head: height,
    });
  // Nodes reject the whole request if one hash is not a digest.
  const digests = own.flatMap(({ txHash }) => (isDigest(txHash) ? [txHash] : []));
  const executed = await readTransactions(source, digests, options);
  const found = new Map(digests.map((digest, place) => [digest, executed[place]]));
  const headers = new Map<number, SuiHeader>();
  for (const transaction of executed) {
    const at = Number(transaction?.checkpoint ?? -1n);
    if (at < 0 || headers.has(at)) continue;
    headers.set(at, reading.tailOf(source).get(at)?.header ?? (await readHeader(source, options, at)));
  }
  return new Map(
    own.map((transaction): [TxHash, FateAnswer] => {
      const answered = found.get(transaction.txHash);
      if (answered?.checkpoint === undefined) return [transaction.txHash, 'none'];
      return [transaction.txHash, answerTo(transaction, answered, headers.get(Number(answered.checkpoint)))];
    }),
  );
}

function answerTo(
  own: OwnTransaction,
  answered: Parameters<typeof decodeTransaction>[0],
  header: SuiHeader | undefined,
): FateAnswer {
  const decoded = tryDecode(() => decodeTransaction(answered));
  if (decoded === undefined || decoded.txHash !== own.txHash || header === undefined) return 'unsound';
  // An own transaction always changes balances. A node that shows none lacks the index of balance changes.
  if (hasNoChanges(answered, decoded)) return 'unsound';
  return decoded.sender === own.from ? fateOf(own, decoded, header) : 'foreign';
}

function tryDecode(decode: () => SuiTransaction): SuiTransaction | undefined {
  try {
    return decode();
  } catch (error) {
    if (isReaderError(error, 'INCONSISTENT_ANSWER')) return undefined;
    throw error;
  }
}

function fateOf(own: OwnTransaction, decoded: SuiTransaction, header: SuiHeader): TransactionFate {
  const { succeeded, gasMist } = decoded;
  return {
    txHash: own.txHash,
    blockHeight: header.height,
    blockHash: header.hash,
    succeeded,
    deliveredBaseUnits: succeeded ? deliveredBy(own, decoded) : 0n,
    feeBaseUnits: gasMist,
  };
}

/** Adds the gas back if the receiver paid it in SUI: its balance change is net of gas. */
function deliveredBy(
  { contract, to }: OwnTransaction,
  { changes, gasOwner, gasMist }: SuiTransaction,
): bigint {
  const coinType = coinTypeOf(contract);
  const change = changes.find((one) => one.address === to && one.coinType === coinType)?.amount ?? 0n;
  const amount = contract === null && gasOwner === to ? change + gasMist : change;
  return amount > 0n ? amount : 0n;
}
