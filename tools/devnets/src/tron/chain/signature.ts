import { secp256k1 } from '@noble/curves/secp256k1.js';
import type { Transaction } from '../protobuf/messages.ts';
import { addressOfPublicKey, hex, toBase58 } from '../tron-address.ts';
import { refuse } from './refusal.ts';

/** Owner and active permission of every account. Others, such as multi-signature, are not supported. */
const KNOWN_PERMISSIONS: readonly number[] = [0, 2];

/** Fails with the messages of java-tron's TransactionCapsule. `v` may be 0, 1, 27 or 28. */
export function requireSignature(transaction: Transaction, txid: Uint8Array, owner: Uint8Array): void {
  const fail = (message: string): never => refuse('SIGERROR', `Validate signature error: ${message}`);
  const signatures = transaction.signature ?? [];
  const [signature] = signatures;
  if (signature === undefined) return fail('miss sig or contract');
  const permission = transaction.raw_data.contract?.[0]?.Permission_id ?? 0;
  if (!KNOWN_PERMISSIONS.includes(permission)) return fail("permission isn't exit");
  if (signatures.length > 1) {
    return fail(`Signature count is ${signatures.length} more than key counts of permission : 1`);
  }
  if (signature.length < 65) return fail(`Signature size is ${signature.length}`);
  const signer = recover(signature, txid);
  if (signer === undefined) return fail('Header byte out of range');
  if (hex(signer) !== hex(owner)) {
    return fail(`${hex(signature)} is signed by ${toBase58(signer)} but it is not contained of permission.`);
  }
}

function recover(signature: Uint8Array, txid: Uint8Array): Uint8Array | undefined {
  const v = signature[64] ?? 0;
  const recovery = v >= 27 ? v - 27 : v;
  if (recovery > 3) return undefined;
  try {
    const parts = Buffer.concat([Uint8Array.of(recovery), signature.subarray(0, 64)]);
    const point = secp256k1.Signature.fromBytes(parts, 'recovered').recoverPublicKey(txid);
    return addressOfPublicKey(point.toBytes(false));
  } catch {
    return undefined; // r or s is out of range or gives no curve point
  }
}

/** Signs a hash. Returns r, s and the recovery id (0 or 1), TRON's format. */
export function signHash(hash: Uint8Array, privateKey: Uint8Array): Uint8Array {
  const [recovery = 0, ...rest] = secp256k1.sign(hash, privateKey, { prehash: false, format: 'recovered' });
  return Uint8Array.of(...rest, recovery);
}
