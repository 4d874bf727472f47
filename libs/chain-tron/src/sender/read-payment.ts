import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { FoundExpiringPayment } from '@opentill/chain/expiring-sender';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { readFates } from '../read-fates.ts';
import type { TronSource, TronSources } from '../tron-sources.ts';
import { intentOf } from './read-signed-transaction.ts';
import { readTransactionBytes } from './read-transaction-bytes.ts';
import { decodeRaw, type RawTransaction } from './transaction.ts';

/** One source suffices for the bytes, because their hash is the transaction id. The outcome needs two sources. */
export async function readPayment(
  sources: TronSources,
  txHash: TxHash,
  { height }: Pick<BlockHeader, 'height'>,
  onSingleSource: (source: { readonly label: string }) => void,
  options: ReadOptions,
): Promise<FoundExpiringPayment | undefined> {
  const read = await sources.run((source, runOptions) => readBytes(source, txHash, runOptions), options);
  if (read === undefined) return undefined;
  const { raw, intent } = read;
  const own = { txHash, ...intent };
  const { fates, disputed } = await readFates({ onSingleSource }, sources, [own], {
    ...options,
    atHeight: height,
    requireTwoSources: true,
  });
  if (disputed.length > 0)
    throw readerError('INCONSISTENT_ANSWER', 'two sources differ on the outcome of the transaction', {
      txHash,
    });
  const [fate] = fates;
  if (fate === undefined || fate.blockHeight > height) return undefined;
  return {
    intent,
    validity: {
      expiresMs: raw.expirationMs,
      uniqueMs: raw.timestampMs,
      // The transaction's own block, because the bytes identify the reference block only in part. The search for the
      // transaction never goes below it.
      reference: { height: fate.blockHeight, hash: fate.blockHash },
    },
    feeLimitBaseUnits: BigInt(raw.feeLimit),
    fate,
  };
}

interface ReadBytes {
  readonly raw: RawTransaction;
  readonly intent: PaymentIntent;
}

async function readBytes(
  source: TronSource,
  txHash: TxHash,
  options: ReadOptions,
): Promise<ReadBytes | undefined> {
  const read = await readTransactionBytes(source, txHash, options);
  if (read === undefined) return undefined;
  try {
    const raw = decodeRaw(read.rawBytes);
    return { raw, intent: intentOf(raw.contract) };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
