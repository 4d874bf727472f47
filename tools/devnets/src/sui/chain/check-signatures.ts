import { createPublicKey, ECDH, verify, type KeyObject } from 'node:crypto';
import { addressOf, signingHash } from '../digest.ts';
import { refuse } from './refusal.ts';
import type { TransactionData } from './transaction.ts';

/** Single-key signature schemes, by the first byte of a signature. */
const ED25519 = 0;
const SECP256K1 = 1;
const SECP256R1 = 2;
const SIGNATURE_BYTES = 64;

/** Half the curve's order. Signatures with a larger s are malleable copies and are rejected. */
const HALF_ORDER: Readonly<Record<number, bigint>> = {
  [SECP256K1]: 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n,
  [SECP256R1]: 0x7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8n,
};
const CURVE: Readonly<Record<number, { readonly jwk: string; readonly openssl: string }>> = {
  [SECP256K1]: { jwk: 'secp256k1', openssl: 'secp256k1' },
  [SECP256R1]: { jwk: 'P-256', openssl: 'prime256v1' },
};

/** Checks that exactly the sender and the gas owner signed these bytes. Throws GatewayError<RefusalCode>. */
export function checkSignatures(
  data: TransactionData,
  bytes: Uint8Array,
  signatures: readonly Uint8Array[],
): void {
  const required = [...new Set([data.sender, data.gasData.owner])];
  if (signatures.length !== required.length) {
    bad(`Expect ${required.length} signer signatures but got ${signatures.length}.`);
  }
  const message = signingHash(bytes);
  const signers = signatures.map((signature) => signerOf(message, signature));
  for (const address of required) {
    if (!signers.includes(address))
      bad(`Required Signature from ${address} is absent ${JSON.stringify(signers)}.`);
  }
}

function bad(why: string): never {
  return refuse('INVALID_ARGUMENT', `Invalid user signature: ${why}`);
}

function signerOf(message: Uint8Array, serialized: Uint8Array): string {
  const flag = serialized[0];
  const keyBytes = flag === ED25519 ? 32 : 33;
  if (flag === undefined || flag > SECP256R1 || serialized.length !== 1 + SIGNATURE_BYTES + keyBytes) {
    return bad('Signature is not valid: only single-key signatures are supported');
  }
  const signature = serialized.subarray(1, 1 + SIGNATURE_BYTES);
  const publicKey = serialized.subarray(1 + SIGNATURE_BYTES);
  if (!isValid(flag, message, signature, publicKey)) return bad('Signature is not valid: Failed to verify');
  return addressOf(flag, publicKey);
}

function isValid(flag: number, message: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): boolean {
  try {
    if (flag === ED25519) return verify(null, message, ed25519Key(publicKey), signature);
    const s = BigInt(`0x${Buffer.from(signature.subarray(32)).toString('hex')}`);
    if (s > (HALF_ORDER[flag] ?? 0n)) return false;
    return verify(
      'sha256',
      message,
      { key: ecdsaKey(flag, publicKey), dsaEncoding: 'ieee-p1363' },
      signature,
    );
  } catch {
    return false; // not a point of the curve
  }
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}

function ed25519Key(publicKey: Uint8Array): KeyObject {
  return createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x: base64url(publicKey) } });
}

function ecdsaKey(flag: number, publicKey: Uint8Array): KeyObject {
  const curve = CURVE[flag] ?? { jwk: '', openssl: '' };
  const point = ECDH.convertKey(publicKey, curve.openssl, undefined, undefined, 'uncompressed') as Buffer;
  const key = {
    kty: 'EC',
    crv: curve.jwk,
    x: base64url(point.subarray(1, 33)),
    y: base64url(point.subarray(33)),
  };
  return createPublicKey({ format: 'jwk', key });
}
