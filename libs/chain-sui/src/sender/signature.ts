import { createHash } from 'node:crypto';
import type { Address } from '@opentill/chain/address-codec';
import type { SignerBackend } from '@opentill/chain/signer-backend';
import { recover, verify, type RecoveryIdType } from 'tiny-secp256k1';
import { suiAddressCodec } from '../address-codec.ts';

/** Scheme secp256k1 (fastcrypto, SignatureScheme). */
const FLAG = 0x01;
const SIGNATURE_BYTES = 64;
const KEY_BYTES = 33;

/** Returns flag, signature and public key. */
export async function signHash(
  backend: SignerBackend,
  address: Address,
  hash: Uint8Array,
): Promise<Uint8Array> {
  const digest = sha256(hash);
  const signed = await backend.sign(address, digest);
  const signature = signed.subarray(0, SIGNATURE_BYTES);
  const parity = signed[SIGNATURE_BYTES];
  if (parity !== 0 && parity !== 1) throw new RangeError('the signer returned an invalid signature');
  const key = recover(digest, signature, parity satisfies RecoveryIdType, true);
  if (key === null) throw new RangeError('the signature recovers to no key');
  return Uint8Array.from([FLAG, ...signature, ...key]);
}

export function readSignature(serialised: Uint8Array, hash: Uint8Array): Address {
  const signature = serialised.subarray(1, 1 + SIGNATURE_BYTES);
  const key = serialised.subarray(1 + SIGNATURE_BYTES);
  if (serialised[0] !== FLAG || key.length !== KEY_BYTES)
    throw new RangeError('the signature has an unsupported scheme');
  if (!isValidSignature(sha256(hash), key, signature)) throw new RangeError('wrong signature');
  return suiAddressCodec.fromPublicKey(key);
}

/** The chain accepts only the low-s form. */
function isValidSignature(digest: Uint8Array, key: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verify(digest, key, signature, true);
  } catch {
    return false;
  }
}

function sha256(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}
