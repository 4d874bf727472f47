import { describe, expect, it } from 'vitest';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import { FAMILIES } from '@opentill/domain/chains';
import { BIP32Factory } from 'bip32';
import * as secp256k1 from 'tiny-secp256k1';
import { createDepositDeriver } from './deposit-address-deriver.ts';
import { DERIVATION_PATHS, depositBranch, hotWalletPublicKey, seedFingerprint } from './derivation.ts';
import { parseMnemonic, seedOf } from './mnemonic.ts';
import { publicKeysFor, publicKeysOf } from './public-keys.ts';

const bip32 = BIP32Factory(secp256k1);
const seed = seedOf(parseMnemonic('test test test test test test test test test test test junk'));
const file = publicKeysOf(seed, [evmAddressCodec]);
const keys = publicKeysFor(file, 'main');
const deriver = createDepositDeriver(keys, [evmAddressCodec]);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('deposit addresses', () => {
  it("derives the addresses of Hardhat's accounts 0 and 1 from its mnemonic", () => {
    expect(evmAddressCodec.format(deriver.address('EVM', 0))).toBe(
      '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    );
    expect(evmAddressCodec.format(deriver.address('EVM', 1))).toBe(
      '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    );
  });

  it("derives the public key of TRON's test vector TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6", () => {
    const { publicKey } = depositBranch(keys.families.TRON.depositXpub, 'main').derive(0);
    expect(hex(publicKey)).toBe('030738c1aa72b07ff1a894198374a34c760913db0e6a5679d48477873b8f1fa865');
    expect(evmAddressCodec.fromPublicKey(publicKey)).toBe('0xe2e1a54926527fbb4e4420de4c6bab82beaee24d');
  });

  it.each(FAMILIES)('derives the same 100 keys of %s from the public and from the private side', (family) => {
    const branch = depositBranch(keys.families[family].depositXpub, 'main');
    const parent = bip32.fromSeed(seed).derivePath(`${DERIVATION_PATHS.main[family].deposits}/0`);
    const publicly: string[] = [];
    const privately: string[] = [];
    for (let place = 0; place < 100; place += 1) {
      // Every other index comes from the whole range.
      const index = place % 2 === 0 ? place : (place * 429_467) % 0x8000_0000;
      publicly.push(`${index} ${hex(branch.derive(index).publicKey)}`);
      privately.push(`${index} ${hex(parent.derive(index).publicKey)}`);
    }
    expect(publicly).toEqual(privately);
    expect(new Set(publicly.map((line) => line.split(' ')[1])).size).toBe(100);
  });

  it('rejects hardened, negative and fractional indices', () => {
    for (const index of [-1, 0.5, 2 ** 31, Number.NaN])
      expect(() => deriver.address('EVM', index)).toThrow(RangeError);
    expect(deriver.address('EVM', 2 ** 31 - 1)).toMatch(/^0x[0-9a-f]{40}$/);
  });

  it('rejects a family without a codec', () => {
    expect(deriver.families).toEqual(['EVM']);
    expect(() => deriver.address('TRON', 0)).toThrow(expect.objectContaining({ code: 'FAMILY_UNKNOWN' }));
  });
});

describe('keys of test networks', () => {
  it.each(FAMILIES)(
    'derives keys for test networks in %s that differ from those of main networks',
    (family) => {
      const test = publicKeysFor(file, 'test');
      expect(test.families[family].depositXpub).not.toBe(keys.families[family].depositXpub);
      expect(hex(hotWalletPublicKey(seed, family, 'test'))).not.toBe(
        hex(hotWalletPublicKey(seed, family, 'main')),
      );
      const accounts = [DERIVATION_PATHS.main[family], DERIVATION_PATHS.test[family]].flatMap((paths) =>
        [paths.deposits, paths.hotWallet].map((path) => path.split('/').slice(0, 4).join('/')),
      );
      expect(new Set(accounts).size).toBe(4);
      expect(accounts.every((account) => account.endsWith("'"))).toBe(true);
      expect(createDepositDeriver(test, [evmAddressCodec]).address('EVM', 0)).not.toBe(
        deriver.address('EVM', 0),
      );
    },
  );

  it('rejects an extended public key of main networks for a test network', () => {
    const { depositXpub } = keys.families.TRON;
    expect(() => depositBranch(depositXpub, 'test')).toThrow('not the extended public key of account 2');
  });
});

describe('wallet keys', () => {
  it('derives keys again without a change of the seed', () => {
    expect(publicKeysOf(seed, [evmAddressCodec])).toEqual(file);
    expect(seedFingerprint(seed)).toBe(hex(bip32.fromSeed(seed).fingerprint));
  });

  it.each(FAMILIES)(
    'derives the hot wallet of %s from another hardened account than the deposits',
    (family) => {
      expect(hex(hotWalletPublicKey(seed, family, 'main'))).toBe(
        hex(bip32.fromSeed(seed).derivePath(DERIVATION_PATHS.main[family].hotWallet).publicKey),
      );
      const [deposits, hot] = [
        DERIVATION_PATHS.main[family].deposits,
        DERIVATION_PATHS.main[family].hotWallet,
      ].map((p) => p.split('/')[3]);
      expect(deposits).not.toBe(hot);
      expect(hot).toMatch(/'$/);
    },
  );

  it('includes no private key in the public keys', () => {
    for (const family of FAMILIES) {
      const branch = depositBranch(keys.families[family].depositXpub, 'main');
      expect(branch.isNeutered()).toBe(true);
      expect(branch.privateKey).toBeUndefined();
      expect(() => branch.deriveHardened(0)).toThrow();
    }
    expect(JSON.stringify(keys)).not.toContain('prv');
  });
});
