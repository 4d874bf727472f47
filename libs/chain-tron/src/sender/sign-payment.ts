import { hash } from 'node:crypto';
import type { Address } from '@opentill/chain/address-codec';
import type { ExpiringClaim, SignedExpiring, Validity } from '@opentill/chain/expiring-sender';
import { senderError } from '@opentill/chain/sender-error';
import { canSignFor, type SignerBackend } from '@opentill/chain/signer-backend';
import type { PaymentIntent } from '@opentill/chain/wallet-sender';
import { encodePayment } from './encode-payment.ts';
import { readSignedTransaction, V_OFFSET, type ReadPayment } from './read-signed-transaction.ts';
import { encodeRaw, encodeSigned, type RawTransaction } from './transaction.ts';

export interface SigningDeps {
  readonly backend: SignerBackend;
  /** Sun: the maximum that a transaction may burn for contract execution. */
  readonly maxFeeLimitSun: bigint;
}

const SIGNATURE_BYTES = 65;
const BLOCK_ID = /^[0-9a-f]{64}$/;

/** TronWeb does not sign: it makes a string of the private key, which cannot be overwritten, and is slower. */
export async function signPayment(
  { backend, maxFeeLimitSun }: SigningDeps,
  intent: PaymentIntent,
  validity: Validity,
  feeLimitBaseUnits: bigint,
): Promise<SignedExpiring> {
  const { from, contract } = intent;
  if (!canSignFor(backend, from))
    throw senderError('WALLET_UNKNOWN', 'the signer has no key of this wallet', { wallet: from });
  requireValid(validity);
  const isFeeInBounds =
    contract === null
      ? feeLimitBaseUnits === 0n
      : feeLimitBaseUnits > 0n && feeLimitBaseUnits <= maxFeeLimitSun;
  if (!isFeeInBounds)
    throw senderError('INTENT_INVALID', 'the fee limit is out of bounds', {
      feeLimit: `${feeLimitBaseUnits}`,
    });
  const rawBytes = encodeRaw({
    ...referenceFields(validity.reference),
    expirationMs: validity.expiresMs,
    contract: encodePayment(intent),
    timestampMs: validity.uniqueMs,
    feeLimit: Number(feeLimitBaseUnits),
  });
  const digest = hash('sha256', rawBytes, 'buffer');
  const raw = encodeSigned(rawBytes, writeSignature(await backend.sign(from, digest), from));
  const txHash = digest.toString('hex') as SignedExpiring['txHash'];
  const signed = { txHash, raw, validity, feeLimitBaseUnits };
  const difference = differenceOfStored(signed, { intent, validity, feeLimitBaseUnits });
  if (difference !== undefined) throw signedOtherwise(difference, from);
  return signed;
}

export function differenceOfStored(
  { txHash, raw: bytes }: Pick<SignedExpiring, 'txHash' | 'raw'>,
  { intent, validity, feeLimitBaseUnits }: ExpiringClaim,
): string | undefined {
  let read: ReadPayment;
  try {
    read = readSignedTransaction(bytes);
  } catch {
    return 'encoding';
  }
  const { raw } = read;
  if (read.txHash !== txHash) return 'txHash';
  if (read.signer !== intent.from) return 'signer';
  const paid = (['from', 'contract', 'to', 'amountBaseUnits', 'resource'] as const).find(
    (field) => read.intent[field] !== intent[field],
  );
  if (paid !== undefined) return paid;
  if (raw.expirationMs !== validity.expiresMs) return 'expiration';
  if (raw.timestampMs !== validity.uniqueMs) return 'timestamp';
  if (BigInt(raw.feeLimit) !== feeLimitBaseUnits) return 'feeLimit';
  return isReference(raw, validity.reference) ? undefined : 'reference';
}

function isReference(raw: RawTransaction, reference: Validity['reference']): boolean {
  const { refBlockBytes, refBlockHash } = referenceFields(reference);
  return raw.refBlockBytes === refBlockBytes && raw.refBlockHash === refBlockHash;
}

/** TRON docs: "Transactions", ref_block_bytes and ref_block_hash. */
function referenceFields({
  height,
  hash: blockId,
}: Validity['reference']): Pick<RawTransaction, 'refBlockBytes' | 'refBlockHash'> {
  return {
    refBlockBytes: (height & 0xffff).toString(16).padStart(4, '0'),
    refBlockHash: blockId.slice(16, 32),
  };
}

function requireValid({ expiresMs, reference, uniqueMs }: Validity): void {
  const { height, hash } = reference;
  const isSane =
    [expiresMs, uniqueMs].every((ms) => Number.isSafeInteger(ms) && ms > 0) &&
    Number.isSafeInteger(height) &&
    height >= 0 &&
    BLOCK_ID.test(hash) &&
    Number.parseInt(hash.slice(0, 16), 16) === height;
  if (!isSane)
    throw senderError('INTENT_INVALID', 'the validity is invalid', { expiresMs, uniqueMs, height, hash });
}

function writeSignature(signature: Uint8Array, from: Address): Uint8Array {
  const [parity] = signature.subarray(SIGNATURE_BYTES - 1);
  if (signature.length !== SIGNATURE_BYTES || (parity !== 0 && parity !== 1))
    throw signedOtherwise('signature', from);
  const written = Uint8Array.from(signature);
  written[SIGNATURE_BYTES - 1] = V_OFFSET + parity;
  return written;
}

function signedOtherwise(field: string, wallet: Address): Error {
  const why = 'the signed transaction differs from the request; it was discarded';
  return senderError('SIGNED_OTHERWISE', why, { field, wallet });
}
