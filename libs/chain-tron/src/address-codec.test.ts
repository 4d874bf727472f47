import { describe, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { TokenContract } from '@opentill/chain/token-contract';
import fc from 'fast-check';
import { addressOfHex, addressOfShortHex, hexOf, shortHexOf, tronAddressCodec } from './address-codec.ts';
import { encodeBase58Check } from './base58check.ts';

const USDT = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const USDT_HEX = '41a614f803b6fd780986a42c78ec9c7f77e6ded13c';
/** Public key of the mnemonic "abandon" × 11 + "about", path m/44'/195'/0'/0/0, derived with TronWeb. */
const KNOWN_KEY = '03ff21f8e64d3a3c0198edfbb7afdc79be959432e92e2f8a1984bb436a414b8edc';

describe('tronAddressCodec', () => {
  it('accepts only base58check', () => {
    expect(tronAddressCodec.parse(USDT)).toBe(USDT);
    expect(tronAddressCodec.format(USDT as Address)).toBe(USDT);
    expect(tronAddressCodec.formatContract(USDT as string as TokenContract)).toBe(USDT);
    for (const text of [USDT_HEX, `0x${USDT_HEX.slice(2)}`, ` ${USDT}`, `${USDT}\n`, USDT.toLowerCase()])
      expect({ text, address: tronAddressCodec.parse(text) }).toEqual({ text, address: undefined });
  });

  it('rejects an address with any one character changed', () => {
    for (let place = 0; place < USDT.length; place += 1)
      for (const other of '1zTt0OIl!é')
        if (other !== USDT[place]) {
          const text = USDT.slice(0, place) + other + USDT.slice(place + 1);
          expect({ text, address: tronAddressCodec.parse(text) }).toEqual({ text, address: undefined });
        }
  });

  it('rejects a valid checksum with another prefix than 41', () => {
    for (const prefix of [0x00, 0x40, 0x42, 0xa0, 0xff]) {
      const text = encodeBase58Check(
        Uint8Array.from({ length: 21 }, (_, place) => (place === 0 ? prefix : 7)),
      );
      expect({ text, address: tronAddressCodec.parse(text) }).toEqual({ text, address: undefined });
    }
  });

  it('rejects the zero address', () => {
    const zero = addressOfShortHex('0'.repeat(40))!;
    expect(zero).toBe('T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb');
    expect(tronAddressCodec.isZero(zero)).toBe(true);
    expect(tronAddressCodec.isZero(USDT as Address)).toBe(false);
    expect(tronAddressCodec.parse(zero)).toBeUndefined();
  });

  it('converts between base58check and the hex of nodes', () => {
    expect(addressOfHex(USDT_HEX)).toBe(USDT);
    expect(addressOfShortHex(USDT_HEX.slice(2))).toBe(USDT);
    expect([hexOf(USDT as Address), shortHexOf(USDT as Address)]).toEqual([USDT_HEX, USDT_HEX.slice(2)]);
    expect(() => hexOf('nonsense' as Address)).toThrow(TypeError);
    for (const hex of [
      '',
      USDT_HEX.slice(2),
      `42${USDT_HEX.slice(2)}`,
      USDT_HEX.toUpperCase(),
      `${USDT_HEX}00`,
    ])
      expect({ hex, address: addressOfHex(hex) }).toEqual({ hex, address: undefined });
    for (const hex of ['', USDT_HEX, `0x${USDT_HEX.slice(2)}`, USDT_HEX.slice(4)])
      expect({ hex, address: addressOfShortHex(hex) }).toEqual({ hex, address: undefined });
  });

  it('parses the address of any 20 bytes back to the same bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (bytes) => {
        const hex = Buffer.from(bytes).toString('hex');
        const address = addressOfShortHex(hex)!;
        expect(address).toMatch(/^T[1-9A-HJ-NP-Za-km-z]{33}$/);
        expect(tronAddressCodec.parse(address)).toBe(/^0+$/.test(hex) ? undefined : address);
        expect(shortHexOf(address)).toBe(hex);
      }),
    );
  });

  it('derives addresses from public keys', () => {
    expect(tronAddressCodec.fromPublicKey(Buffer.from(KNOWN_KEY, 'hex'))).toBe(
      'TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH',
    );
    const generator = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';
    // The address of private key 1: the same 20 bytes as on Ethereum.
    expect(shortHexOf(tronAddressCodec.fromPublicKey(Buffer.from(generator, 'hex')))).toBe(
      '7e5f4552091a69125d5dfcb7b8c2659029395bdf',
    );
    for (const bad of [new Uint8Array(0), new Uint8Array(33), new Uint8Array(65), new Uint8Array(32).fill(2)])
      expect(() => tronAddressCodec.fromPublicKey(bad)).toThrow(TypeError);
    expect(() =>
      tronAddressCodec.fromPublicKey(Buffer.concat([Buffer.from([6]), Buffer.alloc(64, 1)])),
    ).toThrow(TypeError);
  });
});
