import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKeystore, openKeystore } from './keystore.ts';
import { readPassphraseFile } from './read-passphrase-file.ts';

const PASSPHRASE = 'correct horse battery';
const COST = 4;
const secret = Uint8Array.from({ length: 64 }, (_, place) => place * 3);
const contents = { purpose: 'seed', keyId: '16a93ed0', secret } as const;
let dir: string;
let path: string;
let text: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'wallet-'));
  path = join(dir, 'keystore.json');
  await createKeystore(path, contents, PASSPHRASE, { cost: COST });
  text = await readFile(path, 'utf8');
});
afterAll(() => rm(dir, { recursive: true }));

interface File {
  kdf: { n: number; salt: string };
  cipher: { iv: string; tag: string };
  [field: string]: unknown;
}

async function changed(change: (file: File) => void, by: 'accident' | 'attacker'): Promise<string> {
  const file = JSON.parse(text) as File;
  change(file);
  if (by === 'attacker') {
    const { checksum: _, ...unsummed } = file;
    file['checksum'] = createHash('sha256').update(JSON.stringify(unsummed)).digest('hex');
  }
  const copy = join(dir, `copy-${(await readdir(dir)).length}.json`);
  await writeFile(copy, JSON.stringify(file), { mode: 0o600 });
  return copy;
}

const open = (file: string, passphrase = PASSPHRASE) => openKeystore(file, 'seed', passphrase, COST);

describe('keystore', () => {
  it('opens a keystore with its passphrase', async () => {
    const opened = await open(path);
    expect(opened.keyId).toBe('16a93ed0');
    expect(Buffer.from(opened.secret).equals(secret)).toBe(true);
  });

  it('derives keys by scrypt with 2^17 by default, and opens no other cost', async () => {
    const real = join(dir, 'real.json');
    await createKeystore(real, contents, PASSPHRASE);
    expect(JSON.parse(await readFile(real, 'utf8'))).toMatchObject({
      version: 1,
      kdf: { name: 'scrypt', n: 131072, r: 8, p: 1 },
      cipher: { name: 'aes-256-gcm' },
    });
    expect(Buffer.from((await openKeystore(real, 'seed', PASSPHRASE)).secret).equals(secret)).toBe(true);
    await expect(openKeystore(path, 'seed', PASSPHRASE)).rejects.toMatchObject({ code: 'KEYSTORE_DAMAGED' });
  });

  it('writes a file that only its owner can read', async () => {
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await readdir(dir)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    expect(text).not.toContain(Buffer.from(secret).toString('base64').slice(0, 16));
  });

  it('seals each keystore with a new salt and nonce', async () => {
    const again = join(dir, 'again.json');
    await createKeystore(again, contents, PASSPHRASE, { cost: COST });
    const [one, two] = [JSON.parse(text) as File, JSON.parse(await readFile(again, 'utf8')) as File];
    expect(one.kdf.salt).not.toBe(two.kdf.salt);
    expect(one.cipher.iv).not.toBe(two.cipher.iv);
  });

  it('never overwrites an existing keystore', async () => {
    await expect(createKeystore(path, contents, PASSPHRASE, { cost: COST })).rejects.toMatchObject({
      code: 'FILE_EXISTS',
    });
    expect(await readFile(path, 'utf8')).toBe(text);
    expect((await readdir(dir)).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('distinguishes a wrong passphrase from a damaged keystore', async () => {
    await expect(open(path, `${PASSPHRASE}.`)).rejects.toMatchObject({
      code: 'KEYSTORE_WRONG_PASSPHRASE',
    });
    const flipped = await changed(
      (file) => (file['ciphertext'] = `A${String(file['ciphertext']).slice(1)}=`),
      'accident',
    );
    await expect(open(flipped)).rejects.toMatchObject({
      code: 'KEYSTORE_DAMAGED',
    });
    const cut = join(dir, 'cut.json');
    await writeFile(cut, text.slice(0, 200), { mode: 0o600 });
    await expect(open(cut)).rejects.toMatchObject({ code: 'KEYSTORE_DAMAGED' });
  });

  it.each<[string, (file: File) => void, string]>([
    ['the key id', (file) => (file['keyId'] = 'ffffffff'), 'KEYSTORE_WRONG_PASSPHRASE'],
    [
      'the tag',
      (file) => (file.cipher.tag = Buffer.alloc(16).toString('base64')),
      'KEYSTORE_WRONG_PASSPHRASE',
    ],
    ['a shorter tag', (file) => (file.cipher.tag = file.cipher.tag.slice(0, 8)), 'KEYSTORE_DAMAGED'],
    ['less work', (file) => (file.kdf.n = 2), 'KEYSTORE_DAMAGED'],
    ['the purpose', (file) => (file['purpose'] = 'policy'), 'KEYSTORE_WRONG_PURPOSE'],
    ['the version', (file) => (file['version'] = 2), 'KEYSTORE_DAMAGED'],
    ['the key derivation', (file) => (file.kdf = null as never), 'KEYSTORE_DAMAGED'],
    ['the cipher', (file) => (file.cipher = 7 as never), 'KEYSTORE_DAMAGED'],
    ['the ciphertext', (file) => (file['ciphertext'] = null), 'KEYSTORE_DAMAGED'],
  ])('rejects a keystore after an attacker changed %s', async (_, change, code) => {
    await expect(open(await changed(change, 'attacker'))).rejects.toMatchObject({
      code,
    });
  });

  it('rejects short passphrases and files with open permissions', async () => {
    await expect(createKeystore(join(dir, 'new'), contents, 'elevenchars')).rejects.toMatchObject({
      code: 'PASSPHRASE_TOO_SHORT',
    });
    const bare = await changed(() => undefined, 'accident');
    await chmod(bare, 0o644);
    await expect(open(bare)).rejects.toMatchObject({ code: 'FILE_TOO_OPEN' });
    await expect(open(join(dir, 'none'))).rejects.toMatchObject({
      code: 'FILE_UNREADABLE',
    });
  });

  it('accepts a passphrase in any Unicode normalisation form', async () => {
    const unicode = join(dir, 'unicode.json');
    await createKeystore(unicode, contents, 'p\u00e4ssw\u00f6rter hier', { cost: COST });
    expect((await open(unicode, 'pa\u0308sswo\u0308rter hier')).keyId).toBe('16a93ed0');
  });
});

describe('passphrase file', () => {
  it('reads a passphrase file without its last line end', async () => {
    const file = join(dir, 'passphrase');
    await writeFile(file, ' two words \r\n', { mode: 0o600 });
    expect(await readPassphraseFile(file)).toBe(' two words ');
    await chmod(file, 0o604);
    await expect(readPassphraseFile(file)).rejects.toMatchObject({ code: 'FILE_TOO_OPEN' });
  });
});
