import { describe, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/token-contract';
import { Secp256k1Keypair, Secp256k1PublicKey } from '@mysten/sui/keypairs/secp256k1';
import fc from 'fast-check';
import { pointCompress, pointFromScalar } from 'tiny-secp256k1';
import { addressOfNode, suiAddressCodec } from './address-codec.ts';

const KNOWN = '0xa2d14fad60c56049ecf75246a481934691214ce413e6a8ae2fe6834c173a6133';
const FROM_MNEMONIC =
  'film crazy soon outside stand loop subway crumble thrive popular green nuclear struggle pistol arm wife phrase warfare march wheat nephew ask sunny firm';

describe('suiAddressCodec', () => {
  it('parses a full-length address in either case and rejects every other form', () => {
    expect(suiAddressCodec.parse(KNOWN)).toBe(KNOWN);
    expect(suiAddressCodec.parse(`0x${KNOWN.slice(2).toUpperCase()}`)).toBe(KNOWN);
    expect(suiAddressCodec.format(KNOWN as Address)).toBe(KNOWN);
    for (const text of [
      KNOWN.slice(2),
      KNOWN.slice(0, -1),
      `${KNOWN}0`,
      `0X${KNOWN.slice(2)}`,
      ` ${KNOWN}`,
      `${KNOWN}\n`,
      '0x2',
      '0xabc',
      '',
      'alice.sui',
      '0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf',
      KNOWN.replace('a', 'g'),
    ])
      expect({ text, address: suiAddressCodec.parse(text) }).toEqual({ text, address: undefined });
  });

  it('rejects the reserved addresses of the chain, which have no key', () => {
    for (const number of ['0', '1', '2', '3', '5', '6', '8', 'b', '403', 'acc', 'dee9', 'f'.repeat(16)]) {
      const text = `0x${number.padStart(64, '0')}`;
      expect({ text, address: suiAddressCodec.parse(text) }).toEqual({ text, address: undefined });
      expect(addressOfNode(text)).toBe(text);
    }
    expect(suiAddressCodec.isZero(addressOfNode(`0x${'0'.repeat(64)}`)!)).toBe(true);
    expect(suiAddressCodec.isZero(KNOWN as Address)).toBe(false);
  });

  it('formats a coin type as stored', () => {
    const coinType = `${KNOWN}::usdc::USDC` as TokenContract;
    expect(suiAddressCodec.formatContract(coinType)).toBe(coinType);
  });

  it('derives the same address as the SDK from a compressed or an uncompressed key', () => {
    const pair = Secp256k1Keypair.deriveKeypair(FROM_MNEMONIC, "m/54'/784'/0'/0/0");
    expect(suiAddressCodec.fromPublicKey(pair.getPublicKey().toRawBytes())).toBe(pair.toSuiAddress());
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (secret) => {
        const key = pointFromScalar(secret, true);
        fc.pre(key !== null);
        const address = new Secp256k1PublicKey(key).toSuiAddress();
        expect(suiAddressCodec.fromPublicKey(key)).toBe(address);
        expect(suiAddressCodec.fromPublicKey(pointCompress(key, false))).toBe(address);
        expect(suiAddressCodec.parse(address)).toBe(address);
      }),
      { numRuns: 20 },
    );
    for (const bad of [new Uint8Array(0), new Uint8Array(33), new Uint8Array(65), new Uint8Array(32).fill(2)])
      expect(() => suiAddressCodec.fromPublicKey(bad)).toThrow(TypeError);
  });
});
