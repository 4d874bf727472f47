import { keccak_256 } from '@noble/hashes/sha3.js';
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { sha256 } from './sha256.ts';

// Addresses have 21 bytes: 0x41 and the EVM's 20 bytes. EVM and state keys use the 20 bytes in hex.
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const PREFIX = 0x41;

export function addressOfKey(privateKey: Uint8Array): Uint8Array {
  return addressOfPublicKey(secp256k1.getPublicKey(privateKey, false));
}

/** `publicKey` is uncompressed (65 bytes). */
export function addressOfPublicKey(publicKey: Uint8Array): Uint8Array {
  return withPrefix(keccak_256(publicKey.subarray(1)).subarray(12));
}

export function withPrefix(twentyBytes: Uint8Array): Uint8Array {
  const address = new Uint8Array(21);
  address[0] = PREFIX;
  address.set(twentyBytes, 1);
  return address;
}

/** Returns the last 20 bytes in hex, the account key of state and EVM. */
export function accountKey(address: Uint8Array): string {
  return Buffer.from(address.buffer, address.byteOffset + 1, address.length - 1).toString('hex');
}

export function addressOfAccountKey(key: string): Uint8Array {
  return withPrefix(Buffer.from(key, 'hex'));
}

export function isAddress(bytes: Uint8Array | undefined): bytes is Uint8Array {
  return bytes?.length === 21 && bytes[0] === PREFIX;
}

/** Base58 with four bytes of double SHA-256 as checksum. */
export function toBase58(address: Uint8Array): string {
  const bytes = Buffer.concat([address, sha256(sha256(address)).subarray(0, 4)]);
  let rest = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (; rest > 0n; rest /= 58n) text = `${ALPHABET[Number(rest % 58n)]}${text}`;
  return text;
}

/** Throws an Error unless the text encodes 21 bytes with a correct checksum. */
export function fromBase58(text: string): Uint8Array {
  let value = 0n;
  for (const letter of text) {
    const digit = ALPHABET.indexOf(letter);
    if (digit < 0) throw new Error('INVALID base58 String');
    value = value * 58n + BigInt(digit);
  }
  const bytes = Buffer.from(value.toString(16).padStart(50, '0'), 'hex');
  const address = new Uint8Array(bytes.subarray(0, 21));
  const checksum = sha256(sha256(address)).subarray(0, 4);
  if (bytes.length !== 25 || !bytes.subarray(21).equals(checksum)) throw new Error('INVALID base58 String');
  return address;
}

/** Parses base58 or hex, with or without 0x. Throws an Error. */
export function parseAddress(text: unknown): Uint8Array {
  if (typeof text !== 'string') throw new Error('Invalid address');
  const address = text.startsWith('T') ? fromBase58(text) : hexBytes(text);
  if (!isAddress(address)) throw new Error('Invalid address');
  return address;
}

/** Parses hex with or without 0x. Throws an Error with java-tron's message. */
export function hexBytes(text: string): Uint8Array {
  const digits = text.startsWith('0x') ? text.slice(2) : text;
  if (digits.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(digits)) throw new Error('INVALID hex String');
  return new Uint8Array(Buffer.from(digits, 'hex'));
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');
}
