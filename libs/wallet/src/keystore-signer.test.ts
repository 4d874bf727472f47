import { createHash, createHmac } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import { pointFromScalar, recover } from 'tiny-secp256k1';
import { hotWalletPrivateKey, seedFingerprint } from './derivation.ts';
import { createKeystore } from './keystore.ts';
import { openKeystoreSigner, type KeystoreSigner } from './keystore-signer.ts';
import { parseMnemonic, seedOf } from './mnemonic.ts';
import { depositBranch, depositXpub } from './derivation.ts';

const PASSPHRASE = 'correct horse battery';
const cost = 2;
const HOT_WALLET = '0x8c8d35429f74ec245f8ef2f4fd1e551cff97d650' as Address;
const N = 0xffff_ffff_ffff_ffff_ffff_ffff_ffff_fffe_baae_dce6_af48_a03b_bfd2_5e8c_d036_4141n;
const seed = seedOf(parseMnemonic('test test test test test test test test test test test junk'));
const key = hotWalletPrivateKey(seed, 'EVM', 'main');
const codecs = [evmAddressCodec];

let dir: string;
let keystoreFile: string;
let signer: KeystoreSigner;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'wallet-'));
  keystoreFile = join(dir, 'keystore.json');
  const contents = { purpose: 'seed', keyId: seedFingerprint(seed), secret: seed } as const;
  await createKeystore(keystoreFile, contents, PASSPHRASE, { cost });
  signer = await openKeystoreSigner({ keystoreFile, passphrase: PASSPHRASE, codecs, kind: 'main', cost });
});
afterAll(() => rm(dir, { recursive: true }));

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
const number = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
const bytes32 = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(64, '0'), 'hex');

/** ECDSA with the nonce of RFC 6979, section 3.2, without the library. `s` may be high or low. */
function signReference(digest: Buffer, privateKey: Buffer): { r: bigint; s: bigint } {
  const hmac = (by: Buffer, ...parts: Buffer[]) =>
    createHmac('sha256', by).update(Buffer.concat(parts)).digest();
  const h1 = bytes32(number(digest) % N);
  let [k, v] = [Buffer.alloc(32, 0), Buffer.alloc(32, 1)];
  for (const round of [0, 1]) {
    k = hmac(k, v, Buffer.from([round]), privateKey, h1);
    v = hmac(k, v);
  }
  v = hmac(k, v);
  const nonce = number(v);
  const r = number(pointFromScalar(v, true)!.slice(1)) % N;
  let inverse = 1n;
  for (let [base, rest] = [nonce, N - 2n]; rest > 0n; base = (base * base) % N, rest >>= 1n)
    if ((rest & 1n) === 1n) inverse = (inverse * base) % N;
  return { r, s: (inverse * (number(digest) + r * number(privateKey))) % N };
}

it('reproduces the known secp256k1 vector for key 1 and "Satoshi Nakamoto"', () => {
  const { r, s } = signReference(digestOf('Satoshi Nakamoto'), bytes32(1n));
  expect(r.toString(16)).toBe('934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8');
  expect([s, N - s].map((either) => either.toString(16))).toContain(
    '2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5',
  );
});

describe('keystore signer', () => {
  it("signs for the hot wallet's address, deterministically and with the lower s", async () => {
    expect(signer.addresses).toEqual([HOT_WALLET]);
    let sawHigh = false;
    for (let round = 0; round < 32; round += 1) {
      const digest = digestOf(`digest ${round}`);
      const signature = await signer.sign(HOT_WALLET, digest);
      expect(signature).toHaveLength(65);
      const [r, s] = [number(signature.slice(0, 32)), number(signature.slice(32, 64))];
      const book = signReference(digest, key);
      sawHigh ||= book.s > N / 2n;
      expect({ r, s }).toEqual({ r: book.r, s: book.s > N / 2n ? N - book.s : book.s });
      const recoveryId = signature[64] as 0 | 1;
      const publicKey = recover(digest, signature.slice(0, 64), recoveryId, true)!;
      expect(evmAddressCodec.fromPublicKey(publicKey)).toBe(HOT_WALLET);
    }
    expect(sawHigh).toBe(true);
  });

  it('signs only 32-byte digests, and only for its own addresses', async () => {
    await expect(signer.sign(HOT_WALLET, new Uint8Array(31))).rejects.toThrow(RangeError);
    const other = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266' as Address;
    await expect(signer.sign(other, digestOf('x'))).rejects.toMatchObject({ code: 'KEY_UNKNOWN' });
  });

  it('signs only for deposit addresses that it derived itself', async () => {
    const branch = depositBranch(depositXpub(seed, 'EVM', 'main'), 'main');
    const addressOf = (index: number) => evmAddressCodec.fromPublicKey(branch.derive(index).publicKey);
    const digest = digestOf('a sweep');
    await expect(signer.sign(addressOf(7), digest)).rejects.toMatchObject({ code: 'KEY_UNKNOWN' });
    expect(signer.admitDeposit('EVM', 8, addressOf(7))).toBe(false);
    expect(signer.admitDeposit('TRON', 7, addressOf(7))).toBe(false);
    expect(() => signer.admitDeposit('EVM', 2 ** 31, addressOf(7))).toThrow(RangeError);
    await expect(signer.sign(addressOf(7), digest)).rejects.toMatchObject({ code: 'KEY_UNKNOWN' });
    expect(signer.holds(addressOf(7))).toBe(false);
    expect(signer.admitDeposit('EVM', 7, addressOf(7))).toBe(true);
    expect([addressOf(7), HOT_WALLET].map((address) => signer.holds(address))).toEqual([true, true]);
    const signature = await signer.sign(addressOf(7), digest);
    const publicKey = recover(digest, signature.slice(0, 64), signature[64] as 0 | 1, true)!;
    expect(evmAddressCodec.fromPublicKey(publicKey)).toBe(addressOf(7));
    expect(signer.addresses).toEqual([HOT_WALLET]);
  });

  it('never shows a key, seed or passphrase when it is printed, serialised or fails', async () => {
    const errors = await Promise.all(
      [
        signer.sign(HOT_WALLET, new Uint8Array(3)),
        signer.sign('0x00' as Address, digestOf('x')),
        openKeystoreSigner({ keystoreFile, passphrase: `${PASSPHRASE}!`, codecs, kind: 'main', cost }),
        openKeystoreSigner({
          keystoreFile: join(dir, 'none'),
          passphrase: PASSPHRASE,
          codecs,
          kind: 'main',
          cost,
        }),
      ].map((call) =>
        call.then(
          () => undefined,
          (error: unknown) => error,
        ),
      ),
    );
    expect(errors.every((error) => error instanceof Error)).toBe(true);
    const shown = [signer, ...errors]
      .flatMap((thing) => [
        inspect(thing, { depth: Infinity, showHidden: true, getters: true, maxArrayLength: null }),
        JSON.stringify(thing),
        String(thing),
        Object.values(signer).map(String).join(),
      ])
      .join('\n');
    const secrets = [key, seed, Buffer.from(PASSPHRASE)].map((secret) => Buffer.from(secret));
    for (const secret of secrets) {
      for (const spelling of ['hex', 'base64', 'latin1'] as const)
        expect(shown.includes(secret.toString(spelling))).toBe(false);
      expect(shown).not.toContain([...secret].slice(0, 8).join(', '));
      expect(shown).not.toContain(secret.toString('hex').slice(0, 16).match(/../g)!.join(' '));
    }
    expect(shown).toContain(HOT_WALLET);
  });

  it('rejects signing after it was closed', async () => {
    signer.close();
    await expect(signer.sign(HOT_WALLET, digestOf('x'))).rejects.toMatchObject({ code: 'SIGNER_CLOSED' });
    expect(() => signer.admitDeposit('EVM', 0, HOT_WALLET)).toThrow('closed');
    signer.close();
  });
});
