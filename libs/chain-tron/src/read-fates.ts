import type { FateOptions, ReadOptions } from '@opentill/chain/chain-reader';
import type { FatesRead, OwnTransaction, TransactionFate } from '@opentill/chain/own-transaction';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { shortHexOf } from './address-codec.ts';
import { inTurns, readInfo, readTransaction } from './confirm-transfers.ts';
import type { TronHeader, TronTransaction } from './decode-block.ts';
import type { TronInfo } from './decode-info.ts';
import { hasRun, transferIn } from './decode-info.ts';
import type { Reading } from './reading.ts';
import type { TronSource, TronSources } from './tron-sources.ts';
import { readHeader } from './tron-sources.ts';

/**
 * What one source answered of a transaction. 'unsound': what is no receipt of it. 'foreign': that another wallet sent it; the
 * source may be right, and whoever asks be wrong about whose it is.
 */
type Answer = TransactionFate | 'none' | 'unsound' | 'foreign';
type Account = ReadonlyMap<TxHash, Answer>;

/** Reads what became of own transactions; see ChainReader.readFates. */
export async function readFates(
  { onAlone }: Pick<Reading, 'onAlone'>,
  sources: TronSources,
  own: readonly OwnTransaction[],
  { byOneSource = false, atHeight, neverAlone, ...options }: FateOptions,
): Promise<FatesRead> {
  if (own.length === 0) return { fates: [], disputed: [] };
  const ask = (source: TronSource, askOptions: ReadOptions): Promise<Account> =>
    readAccount(sources, source, own, atHeight, askOptions);
  if (byOneSource) return agreedBy(own, [await askOneSource(sources, ask, options)]);
  const said = await askTwoSources(sources, { ask, height: atHeight, onAlone, neverAlone }, options);
  return agreedBy(
    own,
    said.flatMap((one) => (one === undefined ? [] : [one.answer])),
  );
}

/** The first sound account of all transactions, else the last one that was sound of some. */
async function askOneSource(
  sources: TronSources,
  ask: (source: TronSource, options: ReadOptions) => Promise<Account>,
  options: ReadOptions,
): Promise<Account> {
  let partly: Account | undefined;
  try {
    return await sources.run(
      async (source, runOptions) => {
        const account = await ask(source, runOptions);
        if (![...account.values()].includes('unsound')) return account;
        partly = account;
        throw readerError('INCONSISTENT_ANSWER', 'the node answered no receipts of the transactions');
      },
      { ...options, hedge: true },
    );
  } catch (error) {
    // One transaction that every source gets wrong must not keep the others waiting.
    if (partly === undefined || !isReaderError(error, 'INCONSISTENT_ANSWER')) throw error;
    return partly;
  }
}

/** The head is asked for first: a node that had the block before answered the receipts with all blocks up to it. */
async function readAccount(
  sources: TronSources,
  source: TronSource,
  own: readonly OwnTransaction[],
  atHeight: number | undefined,
  options: ReadOptions,
): Promise<Account> {
  const { height } = await sources.readHead(source, options);
  if (atHeight !== undefined && height < atHeight)
    throw readerError('BLOCK_NOT_FOUND', 'the node is behind the block', { height: atHeight, head: height });
  const infos = await inTurns(
    own.map(({ txHash }) => txHash),
    (txHash) => soundInfo(source, txHash, options),
  );
  const heights = new Set(
    [...infos.values()].flatMap((info) => (typeof info === 'object' ? [info.height] : [])),
  );
  const headers = await inTurns([...heights], (at) => readHeader(source, options, at));
  const told = own.map((transaction) => {
    const info = infos.get(transaction.txHash) ?? 'none';
    return typeof info === 'string' ? info : fateOf(transaction, info, headers.get(info.height));
  });
  const unproven = own.filter((transaction, place) => needsOwner(transaction, told[place]));
  const owners = await inTurns(
    unproven.map(({ txHash }) => txHash),
    (txHash) => soundOwner(source, txHash, options),
  );
  return new Map(
    own.map((transaction, place): [TxHash, Answer] => {
      const { txHash, from } = transaction;
      const answer = told[place] ?? 'none';
      if (!needsOwner(transaction, answer)) return [txHash, answer];
      const owner = owners.get(txHash);
      return [txHash, owner === from ? answer : owner === undefined ? 'unsound' : 'foreign'];
    }),
  );
}

/** A receipt does not say who sent it. What a token's log moved out of the wallet is the wallet's; anything else may be anybody's. */
function needsOwner({ contract }: OwnTransaction, answer: Answer | undefined): boolean {
  return typeof answer === 'object' && (contract === null || answer.deliveredBaseUnits === 0n);
}

async function soundOwner(
  source: TronSource,
  txHash: TxHash,
  options: ReadOptions,
): Promise<TronTransaction['owner']> {
  try {
    return (await readTransaction(source, txHash, options)).owner;
  } catch (error) {
    if (isReaderError(error, 'INCONSISTENT_ANSWER')) return undefined;
    throw error;
  }
}

async function soundInfo(
  source: TronSource,
  txHash: TxHash,
  options: ReadOptions,
): Promise<TronInfo | 'none' | 'unsound'> {
  try {
    return (await readInfo(source, txHash, options)) ?? 'none';
  } catch (error) {
    if (isReaderError(error, 'INCONSISTENT_ANSWER')) return 'unsound';
    throw error;
  }
}

/** Only with the header of its own time: a fork between the two questions would name a block that never had it. */
function fateOf(
  own: OwnTransaction,
  info: TronInfo,
  header: TronHeader | undefined,
): TransactionFate | 'unsound' {
  if (header?.timeMs !== info.blockTimeMs) return 'unsound';
  const succeeded = info.contractResult === undefined ? !info.failed : hasRun(info);
  return {
    txHash: own.txHash,
    blockHeight: header.height,
    blockHash: header.hash,
    succeeded,
    deliveredBaseUnits: succeeded ? deliveredBy(own, info) : 0n,
    feeBaseUnits: info.feeSun,
  };
}

/** Of TRX the id itself vouches for receiver and amount: they are part of what was signed. */
function deliveredBy({ contract, from, to, amountBaseUnits }: OwnTransaction, { logs }: TronInfo): bigint {
  if (contract === null) return amountBaseUnits;
  const tokens = new Map([[shortHexOf(contract as unknown as OwnTransaction['to']), contract]]);
  return logs.reduce<bigint>((sum, log) => {
    const transfer = transferIn(log, tokens);
    return transfer?.from === from && transfer.to === to ? sum + transfer.amount : sum;
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
