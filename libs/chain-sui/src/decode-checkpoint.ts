import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash, BlockHeader } from '@opentill/chain/block';
import { readerError } from '@opentill/chain/reader-error';
import type { TokenContract, TxHash } from '@opentill/chain/transfer';
import { addressOfNode } from './address-codec.ts';
import { coinTypeOfNode } from './coin-type.ts';
import { proveCheckpoint, type CheckpointProof } from './proving/prove-checkpoint.ts';
import type { SuiHeader } from './sui-header.ts';
import type { ToldChange, ToldCheckpoint, ToldTransaction } from './told-checkpoint.ts';

/** What one address got of a coin by a whole transaction, or gave. */
export interface BalanceChange {
  readonly address: Address;
  readonly coinType: TokenContract;
  readonly amount: bigint;
}

/** What a node says of a transaction. */
export interface SuiTransaction {
  readonly txHash: TxHash;
  readonly sender: Address;
  /** Who paid for it: the sender, or a sponsor, who has signed as well. */
  readonly gasOwner: Address;
  readonly succeeded: boolean;
  /** What it cost: below zero where more storage was given back than it took. */
  readonly gasMist: bigint;
  /** In the order of address and coin type, whatever the order of the node. */
  readonly changes: readonly BalanceChange[];
}

/** One of which a node shows no change of any balance. */
export interface MuteTransaction {
  readonly txHash: TxHash;
  /** It cost nothing: nothing but a payment need have changed a balance. */
  readonly isFree: boolean;
}

/** A checkpoint as one source tells it. The chain's own transactions are left out. */
export interface SuiCheckpoint {
  readonly header: SuiHeader;
  /** Undefined: the source gave nothing by which it could be checked. */
  readonly proof: CheckpointProof | undefined;
  /** How many it holds, the chain's own included. */
  readonly count: number;
  /** Those of which changes could be left out: see mustNotBeMute. */
  readonly mute: readonly MuteTransaction[];
  /** One of those of which the node shows a changed balance, of whatever coin. */
  readonly telling: TxHash | undefined;
  readonly transactions: readonly (SuiTransaction & {
    /** In the checkpoint. */
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

/** By these a checkpoint is checked: see proveCheckpoint. */
const PROOF_PATHS = ['summary.bcs', 'contents.bcs'];

/** Read masks: a field that is not asked for is unset, silently. */
export const HEADER_MASK = { paths: HEADER_PATHS };
export const CHECKPOINT_MASK = {
  paths: [...HEADER_PATHS, ...PROOF_PATHS, ...TRANSACTION_PATHS.map((path) => `transactions.${path}`)],
};
/** Of a node that has balance changes only of transactions that are asked for one by one. */
export const CONTENTS_MASK = {
  paths: [...HEADER_PATHS, ...PROOF_PATHS, 'contents.transactions.transaction'],
};
export const TRANSACTION_MASK = { paths: [...TRANSACTION_PATHS, 'checkpoint'] };

/** 32 bytes in base58. */
const DIGEST = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;
const AMOUNT = /^-?[0-9]{1,39}$/;
/** The digest of no checkpoint: 32 zero bytes. Stands before checkpoint 0, which names none. */
const NO_DIGEST = '1'.repeat(32);
/** Who "sends" the chain's own transactions: prologues, settlements, ends of epochs. */
const SYSTEM_SENDER = `0x${'0'.repeat(64)}`;

export function isDigest(text: string): boolean {
  return DIGEST.test(text);
}

/** The header of a checkpoint that was asked for with HEADER_MASK or more. Throws INCONSISTENT_ANSWER. */
export function decodeHeader(
  checkpoint: Omit<ToldCheckpoint, 'transactions' | 'contents'> | undefined,
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
    throw unfit('a checkpoint without its summary', { height: wanted });
  const height = safeNumber(sequenceNumber);
  if (wanted !== undefined && height !== wanted)
    throw unfit('another checkpoint than asked for', { height, wanted });
  const parentHash = summary?.previousDigest ?? (height === 0 ? NO_DIGEST : '');
  if (!isDigest(digest) || !isDigest(parentHash)) throw unfit('a digest that is none', { height });
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

/** The header as the scan loop knows it. */
export function plainHeader({ height, hash, parentHash, timeSeconds, epoch }: SuiHeader): BlockHeader {
  return { height, hash, parentHash, timeSeconds, epoch };
}

/**
 * A checkpoint with its transactions, of whose changes only those of `coins` are kept (undefined: all). Throws
 * INCONSISTENT_ANSWER. Whether a node leaves out balance changes, mustNotBeMute judges.
 */
export function decodeCheckpoint(
  raw: ToldCheckpoint | undefined,
  coins: ReadonlySet<string> | undefined,
  wanted?: number,
): SuiCheckpoint {
  const header = decodeHeader(raw, wanted);
  return checkpointOf(header, raw ?? {}, raw?.transactions ?? [], coins);
}

/** See decodeCheckpoint. @param told the bytes that prove it, where they were given */
export function checkpointOf(
  header: SuiHeader,
  told: Pick<ToldCheckpoint, 'summary' | 'contents'>,
  executed: readonly ToldTransaction[],
  coins: ReadonlySet<string> | undefined,
): SuiCheckpoint {
  const transactions: SuiCheckpoint['transactions'][number][] = [];
  const mute: MuteTransaction[] = [];
  let telling: TxHash | undefined;
  for (const [place, one] of executed.entries()) {
    if (one.transaction?.sender === SYSTEM_SENDER) continue;
    const transaction = decodeTransaction(one, coins, header.height);
    transactions.push({ ...transaction, place });
    if (isMute(one, transaction))
      mute.push({ txHash: transaction.txHash, isFree: transaction.gasMist === 0n });
    if (one.balanceChanges.length > 0) telling = transaction.txHash;
  }
  const digests = executed.map(({ digest }) => digest);
  const proof = proveCheckpoint(header, told, digests);
  return { header, proof, count: executed.length, mute, telling, transactions };
}

/** Whether a node shows no change of a transaction that has any as a rule: one that did something, or cost something. */
export function isMute(
  { balanceChanges }: ToldTransaction,
  { succeeded, gasMist }: Pick<SuiTransaction, 'succeeded' | 'gasMist'>,
): boolean {
  return balanceChanges.length === 0 && (succeeded || gasMist !== 0n);
}

/**
 * A transaction that was asked for with TRANSACTION_MASK. A node that lacks the index of balance changes answers without
 * them, and without an error (sui.md section 2.2): see isMute.
 */
export function decodeTransaction(
  { digest, transaction, effects, balanceChanges }: ToldTransaction,
  coins?: ReadonlySet<string>,
  height?: number,
): SuiTransaction {
  const { status, gasUsed } = effects ?? {};
  const sender = addressOfNode(transaction?.sender ?? '');
  const paidBy = transaction?.gasPayment?.owner ?? '';
  // The same text is kept once: of checkpoints that wait to be compared it is most of what they take.
  const gasOwner = paidBy === sender ? sender : addressOfNode(paidBy);
  const success = status?.success;
  if (
    digest === undefined ||
    sender === undefined ||
    gasOwner === undefined ||
    success === undefined ||
    gasUsed === undefined
  )
    throw unfit('a transaction without sender, status or gas', { height, txHash: digest });
  if (!isDigest(digest)) throw unfit('a digest that is none', { height });
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
  raw: readonly ToldChange[],
  {
    coins,
    parties,
  }: { readonly coins: ReadonlySet<string> | undefined; readonly parties: readonly Address[] },
  context: Readonly<Record<string, unknown>>,
): readonly BalanceChange[] {
  const changes: BalanceChange[] = [];
  for (const { address, coinType: told = '', amount } of raw) {
    // Nodes write it in canonical form: those that count are found as they stand there.
    const named = coins?.has(told) === true ? told : coinTypeOfNode(told);
    if (named === undefined) throw unfit('a balance change without its coin', { ...context, told });
    const coinType = coins === undefined ? named : sameOf(coins, named);
    if (coinType === undefined) continue;
    const whose = sameOf(parties, address ?? '') ?? addressOfNode(address ?? '');
    if (whose === undefined || amount === undefined || !AMOUNT.test(amount))
      throw unfit('a balance change without address or amount', context);
    changes.push({
      address: sameOf(parties, whose) ?? whose,
      coinType: coinType as TokenContract,
      amount: BigInt(amount),
    });
  }
  if (changes.length < 2) return changes;
  changes.sort(inOrder);
  // They are net for each address and coin: two would be one transfer recorded twice, or half of one.
  if (changes.some((change, place) => place > 0 && inOrder(changes[place - 1] ?? change, change) === 0))
    throw unfit('two balance changes of one address and coin', context);
  return changes;
}

/** The one of a few texts that says the same. */
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
  if (!Number.isSafeInteger(number)) throw unfit(`a number out of range: ${value}`, {});
  return number;
}

function unfit(why: string, context: Readonly<Record<string, unknown>>): Error {
  return readerError('INCONSISTENT_ANSWER', why, context);
}
