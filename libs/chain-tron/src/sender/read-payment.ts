import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { FoundExpiringPayment } from '@opentill/chain/expiring-sender';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { isNothing, malformed, objectIn } from '../node-value.ts';
import { decodeRaw, digestOf, type RawTransaction } from '../protobuf/transaction.ts';
import { readFates } from '../read-fates.ts';
import type { TronSource, TronSources } from '../tron-sources.ts';
import { intentOf } from './read-signed-transaction.ts';

const HEX = /^(?:[0-9a-f]{2})+$/;

/**
 * See ExpiringSender.readPayment. The bytes vouch for what was signed, since their hash is the transaction's name; what became of
 * it two sources have to say.
 */
export async function readPayment(
  sources: TronSources,
  txHash: TxHash,
  { height }: Pick<BlockHeader, 'height'>,
  onAlone: (source: { readonly label: string }) => void,
  options: ReadOptions,
): Promise<FoundExpiringPayment | undefined> {
  const read = await sources.run((source, own) => readBytes(source, txHash, own), options);
  if (read === undefined) return undefined;
  const { raw, intent } = read;
  const own = { txHash, ...intent };
  const { fates, disputed } = await readFates({ onAlone }, sources, [own], {
    ...options,
    atHeight: height,
    neverAlone: true,
  });
  if (disputed.length > 0)
    throw readerError('INCONSISTENT_ANSWER', 'two sources say other things of the transaction', { txHash });
  const [fate] = fates;
  if (fate === undefined || fate.blockHeight > height) return undefined;
  return {
    intent,
    validity: {
      expiresMs: Number(raw.expirationMs),
      uniqueMs: Number(raw.timestampMs),
      // The block that it refers to is named by a few bytes alone; below this one it is looked for by nobody.
      reference: { height: fate.blockHeight, hash: fate.blockHash },
    },
    feeLimitBaseUnits: raw.feeLimit,
    fate,
  };
}

interface ReadBytes {
  readonly raw: RawTransaction;
  readonly intent: PaymentIntent;
}

/** Undefined when the source knows no such transaction in a solid block, or when it is no payment of the kind we make. */
async function readBytes(
  source: TronSource,
  txHash: TxHash,
  options: ReadOptions,
): Promise<ReadBytes | undefined> {
  const call = { side: 'walletsolidity', method: 'gettransactionbyid', body: { value: txHash } } as const;
  const answer = await source.call(call, options);
  if (isNothing(answer)) return undefined;
  const hex = objectIn(answer, 'transaction')['raw_data_hex'];
  if (typeof hex !== 'string' || !HEX.test(hex)) return malformed('raw_data_hex', hex);
  const bytes = Uint8Array.from(Buffer.from(hex, 'hex'));
  if (Buffer.from(digestOf(bytes)).toString('hex') !== txHash) return malformed('raw_data_hex', hex);
  try {
    const raw = decodeRaw(bytes);
    return { raw, intent: intentOf(raw.contract) };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
