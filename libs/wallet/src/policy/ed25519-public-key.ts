import { ed25519 } from '@noble/curves/ed25519.js';

const HEX_KEY = /^[0-9a-f]{64}$/;

/**
 * Whether 64 lower-case hex digits are an ed25519 public key that somebody can have a private key for: the canonical
 * encoding (RFC 8032, section 5.1.3) of a point of the curve that is not one of the eight of small order. For those
 * signatures can be made up without any key; RFC 8032 leaves it to others to look, and node:crypto does not.
 */
export function isEd25519PublicKey(hex: string): boolean {
  if (!HEX_KEY.test(hex)) return false;
  try {
    return !ed25519.Point.fromHex(hex).isSmallOrder();
  } catch {
    return false; // no point, or not its one spelling
  }
}
