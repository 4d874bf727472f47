import type { BlockHeader } from '@opentill/chain/block';
import type { ChainReader, ReadOptions } from '@opentill/chain/chain-reader';
import type { FoundExpiringPayment } from '@opentill/chain/expiring-sender';
import { isReaderError, readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import { coinTypeOf, coinTypeOfNode } from '../coin-type.ts';
import type { SuiSource, SuiSources } from '../sui-sources.ts';
import { readPaymentBytes, type ReadPayment } from './read-payment-bytes.ts';

const PAYMENT_MASK = { paths: ['transaction.bcs', 'timestamp', 'balance_changes'] };
const NONCE_VALUES = 2 ** 32;

/** One source suffices for the bytes, because their digest is the transaction hash. The outcome needs two sources. */
export async function readPayment(
  sources: SuiSources,
  reader: Pick<ChainReader, 'readFates'>,
  txHash: TxHash,
  { height }: Pick<BlockHeader, 'height'>,
  options: ReadOptions,
): Promise<FoundExpiringPayment | undefined> {
  const found = await sources.run((source, runOptions) => readBytes(source, txHash, runOptions), options);
  if (found === undefined) return undefined;
  const { read, timeMs, received } = found;
  const intent = { ...read.intent, amountBaseUnits: baseUnits(read.intent.amountBaseUnits ?? received) };
  const { fates, disputed } = await reader.readFates([{ txHash, ...intent }], {
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
      expiresMs: timeMs,
      uniqueMs: uniqueNear(timeMs, read.nonce),
      epochs: read.epochs,
      // The search for it never goes below its own checkpoint.
      reference: { height: fate.blockHeight, hash: fate.blockHash },
    },
    feeLimitBaseUnits: read.gas.budgetMist,
    fate,
  };
}

/** The time (ms) with this nonce that is nearest to the execution time. */
export function uniqueNear(timeMs: number, nonce: number): number {
  const floor = Math.floor(timeMs / NONCE_VALUES) * NONCE_VALUES + nonce;
  const near = [floor - NONCE_VALUES, floor, floor + NONCE_VALUES];
  return near.reduce((a, b) => (Math.abs(b - timeMs) < Math.abs(a - timeMs) ? b : a));
}

interface Found {
  readonly read: ReadPayment;
  readonly timeMs: number;
  readonly received: bigint;
}

async function readBytes(
  source: SuiSource,
  digest: TxHash,
  options: ReadOptions,
): Promise<Found | undefined> {
  let answer;
  try {
    answer = await source.ask(
      ({ ledger }, call) => ledger.getTransaction({ digest, readMask: PAYMENT_MASK }, call),
      options,
    );
  } catch (error) {
    if (isReaderError(error, 'BLOCK_NOT_FOUND')) return undefined;
    throw error;
  }
  const { transaction, timestamp, balanceChanges } = answer.response.transaction ?? {};
  const bytes = transaction?.bcs?.value;
  if (timestamp === undefined) return undefined;
  const read = bytes === undefined ? undefined : tryDecode(bytes);
  if (bytes === undefined || (read !== undefined && read.txHash !== digest))
    throw readerError('INCONSISTENT_ANSWER', 'the node returned bytes of another transaction', {
      source: source.label,
    });
  if (read === undefined) return undefined;
  const coinType = coinTypeOf(read.intent.contract);
  const received = (balanceChanges ?? [])
    .filter(
      (change) => change.address === read.intent.to && coinTypeOfNode(change.coinType ?? '') === coinType,
    )
    .reduce((sum, { amount }) => sum + BigInt(amount ?? 0), 0n);
  return { read, timeMs: Number(timestamp.seconds) * 1_000 + Math.floor(timestamp.nanos / 1e6), received };
}

function tryDecode(bytes: Uint8Array): ReadPayment | undefined {
  try {
    return readPaymentBytes(bytes);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
