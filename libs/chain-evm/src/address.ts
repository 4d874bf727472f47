import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import { getAddress } from 'ethers/address';
import { keccak256, SigningKey } from 'ethers/crypto';

const ADDRESS_GRAMMAR = /^0x[0-9a-fA-F]{40}$/;
const MIXED_CASE = /[a-f].*[A-F]|[A-F].*[a-f]/;
const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
const COMPRESSED_BYTES = 33;
const UNCOMPRESSED_BYTES = 65;

/** EIP-55: a mixed-case address must have the right checksum; an address in one case has none. */
function isChecksumValid(text: string): boolean {
  return !MIXED_CASE.test(text.slice(2)) || getAddress(text.toLowerCase()) === text;
}

export const evmAddressCodec: AddressCodec = {
  family: 'EVM',

  parse(text) {
    if (!ADDRESS_GRAMMAR.test(text) || !isChecksumValid(text)) return undefined;
    const canonical = text.toLowerCase();
    return canonical === ZERO_ADDRESS ? undefined : (canonical as Address);
  },

  format(address) {
    return getAddress(address);
  },

  formatContract(contract) {
    return getAddress(contract);
  },

  fromPublicKey(publicKey) {
    if (publicKey.length !== COMPRESSED_BYTES && publicKey.length !== UNCOMPRESSED_BYTES) {
      throw new TypeError(`a public key has 33 or 65 bytes, not ${publicKey.length}`);
    }
    const uncompressed = uncompress(publicKey);
    // The last 20 bytes of the hash of the point without its 0x04 prefix (Yellow Paper, section 4).
    const hash = keccak256(`0x${uncompressed.slice(4)}`);
    return `0x${hash.slice(-40)}` as Address;
  },

  isZero(address) {
    return address === ZERO_ADDRESS;
  },
};

function uncompress(publicKey: Uint8Array): string {
  try {
    return SigningKey.computePublicKey(publicKey, false);
  } catch (cause) {
    throw new TypeError('the bytes are not a point of secp256k1', { cause });
  }
}
