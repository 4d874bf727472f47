import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import { seedFingerprint } from './derivation.ts';
import { createKeystore } from './keystore.ts';
import { openKeystoreSigner } from './keystore-signer.ts';
import { generateMnemonic, seedOf } from './mnemonic.ts';
import { publicKeysOf, writePublicKeys, type PublicKeys } from './public-keys.ts';
import { requireMatchingPublicKeys } from './require-own-public-keys.ts';

const codecs = [evmAddressCodec];
const [seed, otherSeed] = [seedOf(generateMnemonic()), seedOf(generateMnemonic())];
const [own, other] = [publicKeysOf(seed, codecs), publicKeysOf(otherSeed, codecs)];

let dir: string;
let path: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'public-keys-'));
  path = join(dir, 'public-keys.json');
});
afterAll(() => rm(dir, { recursive: true }));

async function check(keys: PublicKeys): Promise<unknown> {
  await writePublicKeys(path, keys);
  return requireMatchingPublicKeys(path, seed, codecs).then(
    () => 'OWN',
    (error: unknown) => error,
  );
}
const withFamilies = (change: Partial<PublicKeys['main']>): PublicKeys => ({
  ...own,
  main: { ...own.main, ...change },
});

it('accepts the file of the seed, also an older one with fewer hot wallets', async () => {
  expect(await check(own)).toBe('OWN');
  expect(await check(withFamilies({ EVM: { ...own.main.EVM, hotWallets: [] } }))).toBe('OWN');
  expect(await check({ ...own, test: undefined })).toBe('OWN');
});

it.each<readonly [string, PublicKeys, readonly string[]]>([
  [
    'another wallet’s file',
    other,
    ['', 'test '].flatMap((kind) => [
      ...(kind === '' ? ['fingerprint'] : []),
      ...['EVM.depositXpub', 'EVM.hotWallets', 'TRON.depositXpub', 'SUI.depositXpub'].map(
        (key) => kind + key,
      ),
    ]),
  ],
  [
    'the deposit key of one family',
    withFamilies({ TRON: { ...own.main.TRON, depositXpub: other.main.TRON.depositXpub } }),
    ['TRON.depositXpub'],
  ],
  [
    'a key of this seed in place of that of another family',
    withFamilies({ EVM: { ...own.main.EVM, depositXpub: own.main.TRON.depositXpub } }),
    ['EVM.depositXpub'],
  ],
  [
    'another deposit key of test networks',
    {
      ...own,
      test: { ...own.test!, TRON: { ...own.test!.TRON, depositXpub: other.test!.TRON.depositXpub } },
    },
    ['test TRON.depositXpub'],
  ],
  [
    'an additional hot wallet',
    withFamilies({
      EVM: {
        ...own.main.EVM,
        hotWallets: [...own.main.EVM.hotWallets, `0x${'a'.repeat(40)}` as Address],
      },
    }),
    ['EVM.hotWallets'],
  ],
  ['only the fingerprint', { ...own, fingerprint: other.fingerprint }, ['fingerprint']],
])('rejects %s, names the difference and repeats no key', async (_what, keys, different) => {
  const error = await check(keys);
  expect(error).toMatchObject({ code: 'PUBLIC_KEYS_OF_ANOTHER_SEED', context: { path, different } });
  for (const { depositXpub } of [...Object.values(own.main), ...Object.values(other.main)])
    expect(JSON.stringify(error) + String(error)).not.toContain(depositXpub);
});

it('rejects a missing or invalid public key file', async () => {
  await expect(requireMatchingPublicKeys(join(dir, 'none'), seed, codecs)).rejects.toMatchObject({
    code: 'FILE_UNREADABLE',
  });
  await writeFile(path, '{}');
  await expect(requireMatchingPublicKeys(path, seed, codecs)).rejects.toMatchObject({
    code: 'PUBLIC_KEYS_INVALID',
  });
});

it('does not open the keystore with the public key file of another wallet', async () => {
  const keystoreFile = join(dir, 'keystore.json');
  const passphrase = 'a passphrase of the tests';
  const cost = 2;
  await createKeystore(
    keystoreFile,
    { purpose: 'seed', keyId: seedFingerprint(seed), secret: seed },
    passphrase,
    { cost },
  );
  const open = (publicKeysFile: string) =>
    openKeystoreSigner({ keystoreFile, passphrase, codecs, kind: 'main', publicKeysFile, cost });
  await writePublicKeys(path, other);
  await expect(open(path)).rejects.toMatchObject({ code: 'PUBLIC_KEYS_OF_ANOTHER_SEED' });
  await writePublicKeys(path, own);
  (await open(path)).close();
});
