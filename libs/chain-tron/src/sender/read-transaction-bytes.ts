import { hash } from 'node:crypto';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { TxHash } from '@opentill/chain/transfer';
import { isNothing, listIn, malformed, objectIn } from '../node-value.ts';
import type { TronSource } from '../tron-sources.ts';

/** The hash covers `rawBytes`, but not the signatures. */
export interface TransactionBytes {
  readonly rawBytes: Uint8Array;
  readonly signatures: readonly Uint8Array[];
}

const HEX = /^(?:[0-9a-f]{2})+$/;

export async function readTransactionBytes(
  source: Pick<TronSource, 'call'>,
  txHash: TxHash,
  options: ReadOptions,
): Promise<TransactionBytes | undefined> {
  const call = { side: 'walletsolidity', method: 'gettransactionbyid', body: { value: txHash } } as const;
  const answer = await source.call(call, options);
  if (isNothing(answer)) return undefined;
  const { raw_data_hex: hex, signature } = objectIn(answer, 'transaction');
  const rawBytes = bytesIn(hex, 'raw_data_hex');
  if (hash('sha256', rawBytes, 'hex') !== txHash) return malformed('raw_data_hex', hex);
  const signatures = listIn(signature, 'signature').map((one) => bytesIn(one, 'signature'));
  return { rawBytes, signatures };
}

function bytesIn(value: unknown, what: string): Uint8Array {
  if (typeof value !== 'string' || !HEX.test(value)) return malformed(what, value);
  return Uint8Array.from(Buffer.from(value, 'hex'));
}
