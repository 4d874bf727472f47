import { createHash } from 'node:crypto';

/** Node's native hash, because a node hashes each transaction several times. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha256').update(bytes).digest());
}
