import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import { createBLAKE2b } from 'hash-wasm';
import { isPoint, pointCompress } from 'tiny-secp256k1';
import { parseCoinType } from './coin-type.ts';

const FORM = /^0x[0-9a-fA-F]{64}$/;
const CANONICAL = /^0x[0-9a-f]{64}$/;
/** Packages and objects of the chain itself have small numbers as addresses. A payment to one is lost. */
const OF_THE_CHAIN = /^0x0{48}/;
const ZERO_ADDRESS = `0x${'0'.repeat(64)}`;
/** Hashed before the public key (Sui docs: "Derive addresses"). */
const SECP256K1_FLAG = 0x01;
const COMPRESSED_BYTES = 33;
const UNCOMPRESSED_BYTES = 65;
const UNCOMPRESSED_MARK = 0x04;

const blake2b = await createBLAKE2b(256);

/** `0x` and exactly 64 hex digits: the SDK would pad shorter ones with zeros. There is no checksum. */
export const suiAddressCodec: AddressCodec = {
  family: 'SUI',

  parse(text) {
    if (!FORM.test(text)) return undefined;
    const address = text.toLowerCase();
    return OF_THE_CHAIN.test(address) ? undefined : (address as Address);
  },

  parseContract: parseCoinType,

  format(address) {
    return address;
  },

  formatContract(contract) {
    return contract;
  },

  fromPublicKey(publicKey) {
    const [length, mark] = [publicKey.length, publicKey[0]];
    if (length !== COMPRESSED_BYTES && (length !== UNCOMPRESSED_BYTES || mark !== UNCOMPRESSED_MARK))
      throw new TypeError('a public key has 33 bytes, or 65 that begin with 0x04');
    if (!isPoint(publicKey)) throw new TypeError('the bytes are not a point of secp256k1');
    const flagged = new Uint8Array(1 + COMPRESSED_BYTES);
    flagged[0] = SECP256K1_FLAG;
    flagged.set(pointCompress(publicKey, true), 1);
    return `0x${blake2b.init().update(flagged).digest('hex')}` as Address;
  },

  isZero(address) {
    return address === ZERO_ADDRESS;
  },
};

/** Accepts the chain's own packages and zero. Undefined if invalid. */
export function addressOfNode(text: string): Address | undefined {
  if (CANONICAL.test(text)) return text as Address;
  return FORM.test(text) ? (text.toLowerCase() as Address) : undefined;
}
