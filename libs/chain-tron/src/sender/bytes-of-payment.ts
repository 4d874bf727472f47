import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { encodeRaw, encodeSigned } from './transaction.ts';
import { encodePayment } from './encode-payment.ts';

/** A node adds these bytes for the result when it counts bandwidth. */
const RESULT_BYTES = 64;
const SIGNATURE_BYTES = 65;

export function bytesOf(intent: PaymentIntent, feeLimit: bigint): bigint {
  const now = Date.UTC(2100, 0);
  const raw = encodeRaw({
    refBlockBytes: '00'.repeat(2),
    refBlockHash: '00'.repeat(8),
    expirationMs: now,
    contract: encodePayment(intent),
    timestampMs: now,
    feeLimit: Number(feeLimit),
  });
  return BigInt(encodeSigned(raw, new Uint8Array(SIGNATURE_BYTES)).length + RESULT_BYTES);
}
