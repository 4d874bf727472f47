import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import { BIP32Factory } from 'bip32';
import * as secp256k1 from 'tiny-secp256k1';
import { parseMnemonic, seedOf } from './mnemonic.ts';
import {
  parsePublicKeys,
  publicKeysFor,
  publicKeysOf,
  readPublicKeys,
  writePublicKeys,
} from './public-keys.ts';

const seed = seedOf(parseMnemonic('test test test test test test test test test test test junk'));
const keys = publicKeysOf(seed, [evmAddressCodec]);
const codecs = [evmAddressCodec];
const { fingerprint, main, test } = keys;
const text = JSON.stringify({
  format: 'opentill-public-keys',
  version: 2,
  fingerprint,
  families: main,
  testFamilies: test,
});
const bip32 = BIP32Factory(secp256k1);
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'wallet-'));
});
afterAll(() => rm(dir, { recursive: true }));

describe('public key file', () => {
  it('reads back what it wrote and replaces an older file', async () => {
    const path = join(dir, 'public-keys.json');
    await writePublicKeys(path, publicKeysOf(seed, []));
    await writePublicKeys(path, keys);
    expect(await readPublicKeys(path, codecs)).toEqual(keys);
    expect((await stat(path)).mode & 0o777).toBe(0o640);
    expect(await readFile(path, 'utf8')).not.toMatch(/prv|mnemonic|seed/);
  });

  it('reads version 1 for main networks and names the command that adds test networks', () => {
    const old = JSON.stringify({ format: 'opentill-public-keys', version: 1, fingerprint, families: main });
    const read = parsePublicKeys(old, codecs);
    expect(publicKeysFor(read, 'main').families).toEqual(main);
    expect(() => publicKeysFor(read, 'test')).toThrow('opentill keys renew-public');
  });

  it('lists hot wallets only for families with an address codec', () => {
    expect(keys.main.EVM.hotWallets).toEqual(['0x8c8d35429f74ec245f8ef2f4fd1e551cff97d650']);
    expect(keys.main.TRON.hotWallets).toEqual([]);
    expect(keys.main.SUI.hotWallets).toEqual([]);
  });

  it('rejects a missing public key file', async () => {
    await expect(readPublicKeys(join(dir, 'none'), codecs)).rejects.toMatchObject({
      code: 'FILE_UNREADABLE',
    });
  });

  it('rejects an extended private key in any field without repeating it', async () => {
    const xprv = bip32.fromSeed(seed).derivePath("m/44'/60'/0'").toBase58();
    const wrong = text.replace(keys.main.EVM.depositXpub, xprv);
    const path = join(dir, 'private.json');
    for (const bad of [wrong, wrong.slice(0, -1)]) {
      await writeFile(path, bad);
      const error: unknown = await readPublicKeys(path, codecs).catch((refusal: unknown) => refusal);
      expect(error).toMatchObject({ code: 'PUBLIC_KEYS_INVALID' });
      expect(String(error) + JSON.stringify(error)).not.toContain(xprv.slice(0, 12));
    }
    expect(() => parsePublicKeys(wrong, codecs)).toThrow(
      /families\.EVM\.depositXpub: an extended private key/,
    );
  });

  it('reports all mistakes of a public key file at once', () => {
    const address = bip32.fromSeed(seed).derivePath("m/44'/60'/1'").neutered().toBase58();
    const bad = JSON.stringify({
      format: 'other',
      version: 3,
      fingerprint: 'XYZ',
      extra: 1,
      families: {
        EVM: { depositXpub: address, hotWallets: ['0x8C8D35429F74EC245F8EF2F4FD1E551CFF97D650'] },
        TRON: { depositXpub: 'xpub', hotWallets: [], seed: 'x' },
        SUI: { depositXpub: keys.main.SUI.depositXpub, hotWallets: 'none' },
      },
      testFamilies: main,
    });
    expect(() => parsePublicKeys(bad, codecs)).toThrow(
      expect.objectContaining({
        context: {
          mistakes: [
            'file.extra is unknown',
            'file.format is not opentill-public-keys',
            'file.version is not 1 or 2',
            'file.fingerprint is not 8 lower-case hex digits',
            'families.EVM.depositXpub: not the extended public key of account 0',
            'families.EVM.hotWallets[0] is not a canonical address',
            'families.TRON.seed is unknown',
            'families.TRON.depositXpub: not base58 with a checksum',
            'families.SUI.hotWallets[0] is not a canonical address',
            ...['EVM', 'TRON', 'SUI'].map(
              (family) => `testFamilies.${family}.depositXpub: not the extended public key of account 2`,
            ),
          ],
        },
      }),
    );
  });

  it.each(['', 'null', '[]', '{}', '"x"', '{"families": null}', '{"families": {"EVM": []}}'])(
    'rejects the contents %p',
    (bad) => {
      expect(() => parsePublicKeys(bad, codecs)).toThrow(
        expect.objectContaining({ code: 'PUBLIC_KEYS_INVALID' }),
      );
    },
  );
});
