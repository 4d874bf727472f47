import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import type { Family } from '@opentill/domain/chains';
import { pointCompress } from 'tiny-secp256k1';
import { depositBranch } from './derivation.ts';
import type { PublicKeys } from './public-keys.ts';
import { walletError } from './wallet-error.ts';

/** BIP-32: indices from here on are hardened and cannot be derived publicly. */
const INDEX_END = 0x8000_0000;

/** Derives deposit addresses from extended public keys alone. About 0.3 ms of CPU an address. */
export interface DepositDeriver {
  /** The families that addresses can be derived for. */
  readonly families: readonly Family[];
  /** Compressed public key (33 bytes) of deposit address `index`. Throws FAMILY_UNKNOWN, RangeError. */
  publicKey(family: Family, index: number): Uint8Array;
  /** Deposit address `index` in canonical form. Throws FAMILY_UNKNOWN, RangeError. */
  address(family: Family, index: number): Address;
}

/** A deriver for the families that have a codec. Reads the extended keys once. */
export function createDepositDeriver(
  publicKeys: PublicKeys,
  codecs: readonly AddressCodec[],
): DepositDeriver {
  const branches = new Map(
    codecs.map((codec) => [
      codec.family,
      { codec, branch: depositBranch(publicKeys.families[codec.family].depositXpub) },
    ]),
  );
  const branchOf = (family: Family) => {
    const found = branches.get(family);
    if (found === undefined)
      throw walletError('FAMILY_UNKNOWN', `no addresses of family ${family} are derived here`);
    return found;
  };
  const publicKey: DepositDeriver['publicKey'] = (family, index) => {
    const { branch } = branchOf(family);
    if (!Number.isSafeInteger(index) || index < 0 || index >= INDEX_END) {
      throw new RangeError(`not an index of a deposit address: ${index}`);
    }
    return branch.derive(index).publicKey;
  };
  return {
    families: [...branches.keys()],
    publicKey,
    address(family, index) {
      // Taken apart here in 20 µs of libsecp256k1; a codec would need 100 µs for the square root.
      return branchOf(family).codec.fromPublicKey(pointCompress(publicKey(family, index), false));
    },
  };
}
