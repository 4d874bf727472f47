import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import { readerError } from '@opentill/chain/reader-error';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import { addressOfNode } from './address-codec.ts';
import { coinTypeOfNode } from './coin-type.ts';
import { proveCheckpoint, type CheckpointProof } from './proving/prove-checkpoint.ts';
import type { SuiHeader } from './sui-header.ts';
import type { RawBalanceChange, RawCheckpoint, RawTransaction } from './raw-checkpoint.ts';

export interface BalanceChange {
  readonly address: Address;
  readonly coinType: TokenContract;
  readonly amount: bigint;
}

export interface SuiTransaction {
  readonly txHash: TxHash;
  readonly sender: Address;
  /** The sender, or a sponsor, who has signed too. */
  readonly gasOwner: Address;
  readonly succeeded: boolean;
  /** In MIST; negative if the storage rebate exceeds the cost. */
  readonly gasMist: bigint;
  readonly changes: readonly BalanceChange[];
}

export interface TransactionWithoutChanges {
  readonly txHash: TxHash;
  /** No gas cost: it changed a balance only if it is a payment. */
  readonly isFree: boolean;
}

/** A checkpoint as one source returns it, without the chain's own transactions. */
export interface SuiCheckpoint {
  readonly header: SuiHeader;
  readonly proof: CheckpointProof | undefined;
  /** Includes the chain's own transactions. */
  readonly count: number;
  /** The node may have omitted their balance changes; see requireBalanceChanges. */
  readonly withoutChanges: readonly TransactionWithoutChanges[];
  /** The last transaction with a balance change of any coin. */
  readonly withChanges: TxHash | undefined;
  readonly transactions: readonly (SuiTransaction & {
    readonly place: number;
  })[];
}

const HEADER_PATHS = [
  'sequence_number',
  'digest',
  'summary.epoch',
  'summary.timestamp',
  'summary.previous_digest',
  'summary.total_network_transactions',
];
const TRANSACTION_PATHS = [
  'digest',
  'transaction.sender',
  'transaction.gas_payment.owner',
  'effects.status',
  'effects.gas_used',
  'balance_changes',
];

const PROOF_PATHS = ['summary.bcs', 'contents.bcs'];

/** Read masks. Nodes leave a field that is not requested unset, without an error. */
export const HEADER_MASK = { paths: HEADER_PATHS };
export const CHECKPOINT_MASK = {
  paths: [...HEADER_PATHS, ...PROOF_PATHS, ...TRANSACTION_PATHS.map((path) => `transactions.${path}`)],
};
/** For nodes that return balance changes only when transactions are requested by digest. */
export const CONTENTS_MASK = {
  paths: [...HEADER_PATHS, ...PROOF_PATHS, 'contents.transactions.transaction'],
};
export const TRANSACTION_MASK = { paths: [...TRANSACTION_PATHS, 'checkpoint'] };

const DIGEST = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;
const AMOUNT = /^-?[0-9]{1,39}$/;
/** Parent digest of checkpoint 0: 32 zero bytes. */
const NO_DIGEST = '1'.repeat(32);
/** Sender of the chain's own transactions: prologues, settlements, ends of epochs. */
const SYSTEM_SENDER = `0x${'0'.repeat(64)}`;

export function isDigest(text: string): boolean {
  return DIGEST.test(text);
}

/** Requested with HEADER_MASK or more. Throws INCONSISTENT_ANSWER, also for another height than `wanted`. */
export function decodeHeader(
  checkpoint: Omit<RawCheckpoint, 'transactions' | 'contents'> | undefined,
  wanted?: number,
): SuiHeader {
  const { sequenceNumber, digest, summary } = checkpoint ?? {};
  const { epoch, timestamp, totalNetworkTransactions } = summary ?? {};
  if (
    sequenceNumber === undefined ||
    digest === undefined ||
    epoch === undefined ||
    timestamp === undefined ||
    totalNetworkTransactions === undefined
  )
    throw unfit('the checkpoint has no summary', { height: wanted });
  const height = safeNumber(sequenceNumber);
  if (wanted !== undefined && height !== wanted)
    throw unfit('the node returned another checkpoint than requested', { height, wanted });
  const parentHash = summary?.previousDigest ?? (height === 0 ? NO_DIGEST : '');
  if (!isDigest(digest) || !isDigest(parentHash)) throw unfit('invalid digest', { height });
  const timeMs = safeNumber(timestamp.seconds) * 1_000 + Math.floor(timestamp.nanos / 1_000_000);
  return {
    height,
    hash: digest as BlockHash,
    parentHash: parentHash as BlockHash,
    timeSeconds: Math.floor(timeMs / 1_000),
    epoch: safeNumber(epoch),
    timeMs,
    totalTransactions: safeNumber(totalNetworkTransactions),
  };
}

export function plainHeader({ height, hash, parentHash, timeSeconds, epoch }: SuiHeader): BlockHeader {
  return { height, hash, parentHash, timeSeconds, epoch };
}

/** Keeps only balance changes of `coins` (undefined: all). Omitted ones are detected by requireBalanceChanges. */
export function decodeCheckpoint(
  raw: RawCheckpoint | undefined,
  coins: ReadonlySet<string> | undefined,
  wanted?: number,
): SuiCheckpoint {
  const header = decodeHeader(raw, wanted);
  return checkpointOf(header, raw ?? {}, raw?.transactions ?? [], coins);
}

/** `raw` contains the bytes that prove the checkpoint, if the node returned them. */
export function checkpointOf(
  header: SuiHeader,
  raw: Pick<RawCheckpoint, 'summary' | 'contents'>,
  executed: readonly RawTransaction[],
  coins: ReadonlySet<string> | undefined,
): SuiCheckpoint {
  const transactions: SuiCheckpoint['transactions'][number][] = [];
  const withoutChanges: TransactionWithoutChanges[] = [];
  let withChanges: TxHash | undefined;
  for (const [place, one] of executed.entries()) {
    if (one.transaction?.sender === SYSTEM_SENDER) continue;
    const transaction = decodeTransaction(one, coins, header.height);
    transactions.push({ ...transaction, place });
    if (hasNoChanges(one, transaction))
      withoutChanges.push({ txHash: transaction.txHash, isFree: transaction.gasMist === 0n });
    if (one.balanceChanges.length > 0) withChanges = transaction.txHash;
  }
  const digests = executed.map(({ digest }) => digest);
  const proof = proveCheckpoint(header, raw, digests);
  return { header, proof, count: executed.length, withoutChanges, withChanges, transactions };
}

/** A transaction that succeeded or cost gas normally has balance changes. */
export function hasNoChanges(
  { balanceChanges }: RawTransaction,
  { succeeded, gasMist }: Pick<SuiTransaction, 'succeeded' | 'gasMist'>,
): boolean {
  return balanceChanges.length === 0 && (succeeded || gasMist !== 0n);
}

/** A node without an index of balance changes omits them without an error; see hasNoChanges. */
export function decodeTransaction(
  { digest, transaction, effects, balanceChanges }: RawTransaction,
  coins?: ReadonlySet<string>,
  height?: number,
): SuiTransaction {
  const { status, gasUsed } = effects ?? {};
  const sender = addressOfNode(transaction?.sender ?? '');
  const paidBy = transaction?.gasPayment?.owner ?? '';
  // Equal texts share one string: addresses take most of the memory of checkpoints that wait for comparison.
  const gasOwner = paidBy === sender ? sender : addressOfNode(paidBy);
  const success = status?.success;
  if (
    digest === undefined ||
    sender === undefined ||
    gasOwner === undefined ||
    success === undefined ||
    gasUsed === undefined
  )
    throw unfit('the transaction has no sender, status or gas', { height, txHash: digest });
  if (!isDigest(digest)) throw unfit('invalid digest', { height });
  const gasMist =
    (gasUsed.computationCost ?? 0n) + (gasUsed.storageCost ?? 0n) - (gasUsed.storageRebate ?? 0n);
  return {
    txHash: digest as TxHash,
    sender,
    gasOwner,
    succeeded: success,
    gasMist,
    changes: decodeChanges(
      balanceChanges,
      { coins, parties: [sender, gasOwner] },
      { height, txHash: digest },
    ),
  };
}

function decodeChanges(
  raw: readonly RawBalanceChange[],
  {
    coins,
    parties,
  }: { readonly coins: ReadonlySet<string> | undefined; readonly parties: readonly Address[] },
  context: Readonly<Record<string, unknown>>,
): readonly BalanceChange[] {
  const changes: BalanceChange[] = [];
  for (const { address, coinType: rawCoinType = '', amount } of raw) {
    // Nodes use the canonical form, so configured coins are usually found without parsing.
    const named = coins?.has(rawCoinType) === true ? rawCoinType : coinTypeOfNode(rawCoinType);
    if (named === undefined)
      throw unfit('a balance change has no valid coin type', { ...context, rawCoinType });
    const coinType = coins === undefined ? named : sameOf(coins, named);
    if (coinType === undefined) continue;
    const owner = sameOf(parties, address ?? '') ?? addressOfNode(address ?? '');
    if (owner === undefined || amount === undefined || !AMOUNT.test(amount))
      throw unfit('a balance change has no valid address or amount', context);
    changes.push({
      address: sameOf(parties, owner) ?? owner,
      coinType: coinType as TokenContract,
      amount: BigInt(amount),
    });
  }
  if (changes.length < 2) return changes;
  changes.sort(inOrder);
  // Balance changes are net per address and coin. Two of the same would record a transfer twice, or half of it.
  if (changes.some((change, place) => place > 0 && inOrder(changes[place - 1] ?? change, change) === 0))
    throw unfit('two balance changes of one address and coin', context);
  return changes;
}

/** Returns the string of `few`, so that only one copy stays in memory. */
function sameOf<T extends string>(few: Iterable<T>, text: string): T | undefined {
  for (const one of few) if (one === text) return one;
  return undefined;
}

function inOrder(a: BalanceChange, b: BalanceChange): number {
  if (a.address !== b.address) return a.address < b.address ? -1 : 1;
  if (a.coinType === b.coinType) return 0;
  return a.coinType < b.coinType ? -1 : 1;
}

function safeNumber(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw unfit(`number out of range: ${value}`, {});
  return number;
}

function unfit(why: string, context: Readonly<Record<string, unknown>>): Error {
  return readerError('INCONSISTENT_ANSWER', why, context);
}
