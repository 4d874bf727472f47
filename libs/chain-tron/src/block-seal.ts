import { recover, type RecoveryIdType } from 'tiny-secp256k1';
import { hexOf, tronAddressCodec } from './address-codec.ts';
import { objectIn } from './node-value.ts';
import { headerDigestOf } from './protobuf/header.ts';

/** Addresses are 42 hex digits that begin with 41. */
export interface BlockSeal {
  readonly height: number;
  readonly witnessHex: string;
  readonly digestHex: string;
  /** The block id does not cover it. */
  readonly signatureHex: string;
}

const SIGNATURE = /^[0-9a-f]{130}$/;
const V_OFFSET = 27;

/** A missing witness or signature becomes an empty string. */
export function sealOf(raw: unknown, height: number): BlockSeal {
  const header = objectIn(objectIn(raw, 'block')['block_header'], 'block_header');
  const data = objectIn(header['raw_data'], 'block_header.raw_data');
  const { witness_address: witness } = data;
  const { witness_signature: signature } = header;
  return {
    height,
    witnessHex: typeof witness === 'string' ? witness : '',
    digestHex: headerDigestOf(data),
    signatureHex: typeof signature === 'string' ? signature : '',
  };
}

/** Undefined if the signature is invalid. Nodes write the recovery id as 0, 1, 27 or 28. */
export function signerHexOf({ digestHex, signatureHex }: BlockSeal): string | undefined {
  if (!SIGNATURE.test(signatureHex)) return undefined;
  const signature = Buffer.from(signatureHex, 'hex');
  const v = signature[64] ?? 0;
  const recovery = v >= V_OFFSET ? v - V_OFFSET : v;
  if (recovery > 1) return undefined;
  try {
    const key = recover(
      Buffer.from(digestHex, 'hex'),
      signature.subarray(0, 64),
      recovery as RecoveryIdType,
      true,
    );
    return key === null ? undefined : hexOf(tronAddressCodec.fromPublicKey(key));
  } catch {
    return undefined; // r or s out of range
  }
}
