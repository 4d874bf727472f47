import type { Address } from '@opentill/chain/address-codec';
import type { TxHash } from '@opentill/chain/transfer';
import { keccak256 } from 'ethers/crypto';
import { recover } from 'tiny-secp256k1';
import { readRlp, wrapRlpList } from './read-rlp.ts';

/** Addresses, hash and data in lower case. */
export interface ReadTransaction {
  readonly txHash: TxHash;
  readonly from: Address;
  readonly chainId: bigint;
  readonly nonce: bigint;
  readonly maxPriorityFeePerGas: bigint;
  readonly maxFeePerGas: bigint;
  readonly gasLimit: bigint;
  readonly to: Address;
  readonly valueWei: bigint;
  readonly data: string;
}

/** EIP-1559; EIP-2718 puts the type before the payload. */
const TYPE = 2;
const FIELDS = 12;
const UNSIGNED_FIELDS = 9;
/** Half of secp256k1's order: a higher s is the other form of the same signature (EIP-2). */
const S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/** Shares no code with the encoder and signer, so that it detects their errors. */
export function readSignedTransaction(raw: Uint8Array): ReadTransaction {
  if (raw[0] !== TYPE) throw new RangeError('not a transaction of type 2');
  const list = readRlp(raw.subarray(1));
  if (list.kind !== 'list' || list.items.length !== FIELDS)
    throw new RangeError('not the fields of a transaction');
  const [chainId, nonce, tip, maxFee, gasLimit, to, value, data, accessList, parity, r, s] = list.items.map(
    (item, place) => {
      if (item.kind === 'bytes') return item.bytes;
      if (place === UNSIGNED_FIELDS - 1 && item.items.length === 0) return new Uint8Array();
      throw new RangeError('a field is a list');
    },
  );
  if (list.items[UNSIGNED_FIELDS - 1]?.kind !== 'list' || accessList === undefined)
    throw new RangeError('the access list is malformed');
  if (to?.length !== 20) throw new RangeError('the receiver is not an address');
  const unsigned = list.payload.subarray(0, list.ends[UNSIGNED_FIELDS - 1]);
  return {
    txHash: keccak256(raw) as TxHash,
    from: signerOf(unsigned, integerOf(parity), integerOf(r), integerOf(s)),
    chainId: integerOf(chainId),
    nonce: integerOf(nonce),
    maxPriorityFeePerGas: integerOf(tip),
    maxFeePerGas: integerOf(maxFee),
    gasLimit: integerOf(gasLimit),
    to: `0x${hexOf(to)}` as Address,
    valueWei: integerOf(value),
    data: `0x${hexOf(data ?? new Uint8Array())}`,
  };
}

function signerOf(unsigned: Uint8Array, parity: bigint, r: bigint, s: bigint): Address {
  if (parity > 1n || s > S_MAX) throw new RangeError('the signature is not in its canonical form');
  const digest = keccak256(Uint8Array.of(TYPE, ...wrapRlpList(unsigned)));
  const signature = Buffer.from(wordOf(r) + wordOf(s), 'hex');
  const key = recoverKey(Buffer.from(digest.slice(2), 'hex'), signature, parity === 1n ? 1 : 0);
  // The last 20 bytes of the hash of the point without its 0x04 prefix (Yellow Paper, section 4).
  return `0x${keccak256(key.subarray(1)).slice(-40)}` as Address;
}

function recoverKey(digest: Uint8Array, signature: Uint8Array, parity: 0 | 1): Uint8Array {
  let key: Uint8Array | null;
  try {
    key = recover(digest, signature, parity, false);
  } catch (cause) {
    throw new RangeError('the signature is malformed', { cause });
  }
  if (key === null) throw new RangeError('the signature has no signer');
  return key;
}

function integerOf(bytes: Uint8Array | undefined): bigint {
  if (bytes === undefined || bytes.length > 32 || bytes[0] === 0)
    throw new RangeError('a field is not an integer');
  return bytes.length === 0 ? 0n : BigInt(`0x${hexOf(bytes)}`);
}

function wordOf(value: bigint): string {
  return value.toString(16).padStart(64, '0');
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}
