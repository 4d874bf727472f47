import { ed25519 } from '@noble/curves/ed25519.js';

const HEX_KEY = /^[0-9a-f]{64}$/;

/**
 * Canonical encoding (RFC 8032, section 5.1.3) of a curve point of large order. For the eight points of small order,
 * which node:crypto accepts, signatures can be forged without a key.
 */
export function isEd25519PublicKey(hex: string): boolean {
  if (!HEX_KEY.test(hex)) return false;
  try {
    return !ed25519.Point.fromHex(hex).isSmallOrder();
  } catch {
    return false; // no point, or not canonical
  }
}
