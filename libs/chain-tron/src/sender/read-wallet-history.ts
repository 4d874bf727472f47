import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { askTwoSources } from '@opentill/chain-sources/ask-two-sources';
import { addressOfHex } from '../address-codec.ts';
import { inBatches } from '../confirm-transfers.ts';
import {
  createTronSources,
  readHeader,
  type TronSource,
  type TronSources,
  type TronSourcesDeps,
  type TronSourcesNetwork,
} from '../tron-sources.ts';
import { walkSolidBlocks } from '../walk-blocks.ts';
import { readSignedTransaction, V_OFFSET, type ReadPayment } from './read-signed-transaction.ts';
import { readTransactionBytes, type TransactionBytes } from './read-transaction-bytes.ts';
import { encodeSigned } from './transaction.ts';

export interface SentTransaction {
  readonly owner: Address;
  readonly txHash: TxHash;
  readonly blockHeight: number;
  readonly blockHash: BlockHash;
  readonly blockTimeMs: number;
  /** Includes the signature, if there is exactly one. */
  readonly raw: Uint8Array;
  readonly payment: ReadPayment | undefined;
}

export interface HistoryRange {
  /** Without `hash`, any solid block at that height. */
  readonly after: { readonly height: number; readonly hash: BlockHash | undefined };
  readonly to: number;
}

export interface WalletHistory {
  readonly sent: readonly SentTransaction[];
  readonly last: { readonly height: number; readonly hash: BlockHash };
  /** Milliseconds since 1970; neither the last block nor the one before it is earlier. */
  readonly overMs: number;
}

/** Selects the own addresses. Called once per range with all senders. */
export type SelectOwnAddresses = (owners: readonly Address[]) => Promise<ReadonlySet<Address>>;

export interface TronWalletHistoryReader {
  /**
   * Transactions of any type and outcome. Two sources must agree, if several are configured; a single configured source
   * is proven by the headers. BLOCK_NOT_FOUND if the range is not solid yet, RangeError for an empty range.
   */
  read(oursAmong: SelectOwnAddresses, range: HistoryRange, options?: ReadOptions): Promise<WalletHistory>;
}

type Found = Omit<SentTransaction, 'raw' | 'payment'>;
interface SourceHistory extends Omit<WalletHistory, 'sent'> {
  readonly found: readonly Found[];
}

export function createTronWalletHistoryReader(
  network: TronSourcesNetwork,
  deps: TronSourcesDeps = {},
): TronWalletHistoryReader {
  const sources = createTronSources(network, deps);
  return {
    async read(oursAmong, range, options = {}) {
      if (range.to <= range.after.height) throw new RangeError(`empty block range: ${JSON.stringify(range)}`);
      const ask = (source: TronSource, own: ReadOptions): Promise<SourceHistory> =>
        readSource(source, range, own);
      // `requireTwoSources`: a single source is accepted only if no other is configured, so there is no alarm.
      const question = { ask, height: range.to, onSingleSource: () => undefined, requireTwoSources: true };
      const [first, second] = await askTwoSources(sources, question, options);
      const answers = second === undefined ? [first] : [first, second];
      const owners = new Set(answers.flatMap(({ answer }) => answer.found.map(({ owner }) => owner)));
      const ours = await oursAmong([...owners]);
      const [own, other] = answers.map(({ answer }) => ({
        ...answer,
        found: answer.found.filter(({ owner }) => ours.has(owner)),
      }));
      const { found, last, overMs } = own ?? first.answer;
      if (own !== undefined && other !== undefined && second !== undefined && !isSame(own, other))
        throw readerError('INCONSISTENT_ANSWER', 'two sources return different transactions of a wallet', {
          sources: [first.source.label, second.source.label],
          height: last.height,
        });
      const bytes = await inBatches(
        found.map(({ txHash }) => txHash),
        (txHash) => readBytes(sources, txHash, options),
      );
      const sent = found.map((one) => ({ ...one, ...paymentIn(one.owner, bytes.get(one.txHash)) }));
      return { sent, last, overMs };
    },
  };
}

async function readSource(
  source: TronSource,
  { after, to }: HistoryRange,
  options: ReadOptions,
): Promise<SourceHistory> {
  const start = await readHeader(source, options, after.height, 'walletsolidity');
  if (after.hash !== undefined && start.hash !== after.hash)
    throw readerError('INCONSISTENT_ANSWER', 'the range begins at another block than the known one', {
      height: after.height,
    });
  const found: Found[] = [];
  let [before, last] = [start, start];
  for await (const { header, entries } of walkSolidBlocks(source, start, options, to)) {
    [before, last] = [last, header];
    for (const { transaction } of entries) {
      const owner = addressOfHex(transaction.ownerHex ?? '');
      if (owner !== undefined)
        found.push({
          owner,
          txHash: transaction.txHash,
          blockHeight: header.height,
          blockHash: header.hash,
          blockTimeMs: header.timeMs,
        });
    }
  }
  const { height, hash } = last;
  return { found, last: { height, hash }, overMs: Math.min(before.timeMs, last.timeMs) };
}

function isSame(one: SourceHistory, other: SourceHistory): boolean {
  return (
    one.last.hash === other.last.hash &&
    one.overMs === other.overMs &&
    one.found.length === other.found.length &&
    one.found.every(({ owner, txHash, blockHash, blockTimeMs }, place) => {
      const counterpart = other.found[place];
      const isSameBlock = counterpart?.blockHash === blockHash && counterpart.blockTimeMs === blockTimeMs;
      return isSameBlock && counterpart.txHash === txHash && counterpart.owner === owner;
    })
  );
}

function readBytes(sources: TronSources, txHash: TxHash, options: ReadOptions): Promise<TransactionBytes> {
  return sources.run(async (source, own) => {
    const bytes = await readTransactionBytes(source, txHash, own);
    if (bytes !== undefined) return bytes;
    throw readerError('BLOCK_NOT_FOUND', 'the node lacks a transaction of a solid block', { txHash });
  }, options);
}

const SIGNATURE_BYTES = 65;

function paymentIn(
  owner: Address,
  bytes: TransactionBytes | undefined,
): Pick<SentTransaction, 'raw' | 'payment'> {
  const { rawBytes = new Uint8Array(0), signatures = [] } = bytes ?? {};
  const [signature, ...others] = signatures;
  if (signature === undefined || signature.length < SIGNATURE_BYTES || others.length > 0)
    return { raw: rawBytes, payment: undefined };
  const raw = encodeSigned(rawBytes, normaliseSignature(signature));
  try {
    const payment = readSignedTransaction(raw);
    // A delegation of energy is not a payment.
    const isPayment = payment.signer === owner && payment.intent.resource === undefined;
    return { raw, payment: isPayment ? payment : undefined };
  } catch {
    return { raw, payment: undefined }; // another contract type, or not the signature of a single key
  }
}

/**
 * The hash does not cover a signature: any relay of the transaction may have written the recovery bit as 0 or 1, or
 * added bytes that nodes ignore.
 */
function normaliseSignature(signature: Uint8Array): Uint8Array {
  const written = Uint8Array.from(signature.subarray(0, SIGNATURE_BYTES));
  const v = written[SIGNATURE_BYTES - 1] ?? 0;
  if (v < V_OFFSET) written[SIGNATURE_BYTES - 1] = V_OFFSET + v;
  return written;
}
