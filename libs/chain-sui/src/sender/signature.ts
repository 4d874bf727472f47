import { createHash } from 'node:crypto';
import type { Address } from '@opentill/chain/address-codec';
import type { SignerBackend } from '@opentill/chain/signer-backend';
import { recover, verify, type RecoveryIdType } from 'tiny-secp256k1';
import { suiAddressCodec } from '../address-codec.ts';

/** What a serialised signature begins with: its scheme, secp256k1 (crates/fastcrypto, SignatureScheme). */
const FLAG = 0x01;
const SIGNATURE_BYTES = 64;
const KEY_BYTES = 33;

/** Signs the hash of a transaction with the key of `address`. Gives flag, signature and public key, as the chain takes them. */
export async function signHash(
  backend: SignerBackend,
  address: Address,
  hash: Uint8Array,
): Promise<Uint8Array> {
  const digest = sha256(hash);
  const signed = await backend.sign(address, digest);
  const signature = signed.subarray(0, SIGNATURE_BYTES);
  const parity = signed[SIGNATURE_BYTES];
  if (parity !== 0 && parity !== 1) throw new RangeError('not a signature');
  const key = recover(digest, signature, parity satisfies RecoveryIdType, true);
  if (key === null) throw new RangeError('a signature of no key');
  return Uint8Array.from([FLAG, ...signature, ...key]);
}

/** Whose signature of the hash it is. Throws RangeError for one that is not right, or of another scheme. */
export function readSignature(serialised: Uint8Array, hash: Uint8Array): Address {
  const signature = serialised.subarray(1, 1 + SIGNATURE_BYTES);
  const key = serialised.subarray(1 + SIGNATURE_BYTES);
  if (serialised[0] !== FLAG || key.length !== KEY_BYTES)
    throw new RangeError('a signature of a scheme that nothing here signs with');
  if (!isRight(sha256(hash), key, signature)) throw new RangeError('a wrong signature');
  return suiAddressCodec.fromPublicKey(key);
}

/** Strict: of a signature's two forms the chain takes the lower one alone. */
function isRight(digest: Uint8Array, key: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verify(digest, key, signature, true);
  } catch {
    return false;
  }
}

function sha256(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}
