import { createCipheriv, createDecipheriv, createHash, randomBytes, scrypt } from 'node:crypto';
import { access } from 'node:fs/promises';
import { readJson } from '@opentill/domain/read-json';
import { readPrivateFile } from './read-private-file.ts';
import { walletError } from './wallet-error.ts';
import { writeFileAtomically } from './write-file-atomically.ts';

export type KeystorePurpose = 'seed' | 'policy' | 'approver-key';

/** `keyId` is public: a seed's fingerprint or an approver's public key. */
export interface KeystoreContents {
  readonly purpose: KeystorePurpose;
  readonly keyId: string;
  readonly secret: Uint8Array;
}

export interface KeystoreOptions {
  /** File whose owner and mode the new one gets. @default the process's owner, mode 0600 */
  readonly like?: string;
  /** Scrypt's N. Only tests set it. @default 2^17 */
  readonly cost?: number | undefined;
}

/** The caller zeroes `secret` after use. */
export interface OpenedKeystore {
  readonly keyId: string;
  readonly secret: Uint8Array;
}

/** Characters. */
const PASSPHRASE_LENGTH_MIN = 12;

/** Scrypt's N: one guess costs about 0.5 s and 128 MiB. Only tests pass less. */
const KEYSTORE_COST = 2 ** 17;

const FORMAT = 'opentill-keystore';
const VERSION = 1;
/** Fixed by the caller: a file cannot ask for weaker or more expensive work. */
const kdfOf = (cost: number) => ({ name: 'scrypt', n: cost, r: 8, p: 1 }) as const;
const SCRYPT_BYTES_MAX = 256 * 1024 * 1024;
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const SALT_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const OWNER_ONLY = 0o600;
/** 1 MiB: policies list addresses. */
const FILE_BYTES_MAX = 1024 * 1024;

interface KeystoreFile {
  readonly format: typeof FORMAT;
  readonly version: typeof VERSION;
  readonly purpose: string;
  readonly keyId: string;
  readonly kdf: {
    readonly name: string;
    readonly n: number;
    readonly r: number;
    readonly p: number;
    readonly salt: string;
  };
  readonly cipher: { readonly name: string; readonly iv: string; readonly tag: string };
  readonly ciphertext: string;
  /** SHA-256 of the fields above, for accidents only; the cipher's tag detects manipulation. */
  readonly checksum: string;
}

/** @throws FILE_EXISTS, PASSPHRASE_TOO_SHORT */
export async function createKeystore(
  path: string,
  contents: KeystoreContents,
  passphrase: string,
  { like, cost = KEYSTORE_COST }: KeystoreOptions = {},
): Promise<void> {
  const text = await sealKeystore(contents, passphrase, cost);
  const owner = like === undefined ? {} : { like };
  await writeFileAtomically(path, text, { mode: OWNER_ONLY, replace: false, ...owner });
}

/** Replaces only a file of the same purpose: a policy never replaces the seed. */
export async function replaceKeystore(
  path: string,
  contents: KeystoreContents,
  passphrase: string,
  cost = KEYSTORE_COST,
): Promise<void> {
  const isReplaced = await exists(path);
  if (isReplaced) requirePurpose(await readKeystore(path, cost), contents.purpose, path);
  const text = await sealKeystore(contents, passphrase, cost);
  const owner = isReplaced ? { like: path } : {};
  await writeFileAtomically(path, text, { mode: OWNER_ONLY, replace: true, ...owner });
}

/** @throws FILE_UNREADABLE, FILE_TOO_OPEN, KEYSTORE_DAMAGED, KEYSTORE_WRONG_PURPOSE, KEYSTORE_WRONG_PASSPHRASE */
export async function openKeystore(
  path: string,
  purpose: KeystorePurpose,
  passphrase: string,
  cost = KEYSTORE_COST,
): Promise<OpenedKeystore> {
  const file = await readKeystore(path, cost);
  requirePurpose(file, purpose, path);
  const key = await deriveKey(passphrase, Buffer.from(file.kdf.salt, 'base64'), cost);
  try {
    const decipher = createDecipheriv(CIPHER, key, Buffer.from(file.cipher.iv, 'base64'), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(additionalData(file.version, file.purpose, file.keyId));
    decipher.setAuthTag(Buffer.from(file.cipher.tag, 'base64'));
    const first = decipher.update(Buffer.from(file.ciphertext, 'base64'));
    try {
      return { keyId: file.keyId, secret: Buffer.concat([first, decipher.final()]) };
    } catch {
      // The checksum matched, so the file is intact. No cause: it only names the tag.
      throw walletError('KEYSTORE_WRONG_PASSPHRASE', `the passphrase does not open ${path}`, { path });
    } finally {
      first.fill(0);
    }
  } finally {
    key.fill(0);
  }
}

/** Needs no passphrase. Proves that the file is whole, not who made it. */
export async function identifyKeystore(
  path: string,
  purpose: KeystorePurpose,
  cost = KEYSTORE_COST,
): Promise<string> {
  const file = await readKeystore(path, cost);
  requirePurpose(file, purpose, path);
  return file.keyId;
}

async function sealKeystore(contents: KeystoreContents, passphrase: string, cost: number): Promise<string> {
  if (passphrase.length < PASSPHRASE_LENGTH_MIN) {
    throw walletError(
      'PASSPHRASE_TOO_SHORT',
      `the passphrase needs at least ${PASSPHRASE_LENGTH_MIN} characters`,
    );
  }
  const salt = randomBytes(SALT_BYTES);
  const iv = randomBytes(IV_BYTES);
  const key = await deriveKey(passphrase, salt, cost);
  try {
    const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
    cipher.setAAD(additionalData(VERSION, contents.purpose, contents.keyId));
    const ciphertext = Buffer.concat([cipher.update(contents.secret), cipher.final()]);
    const unsummed = {
      format: FORMAT,
      version: VERSION,
      purpose: contents.purpose,
      keyId: contents.keyId,
      kdf: { ...kdfOf(cost), salt: salt.toString('base64') },
      cipher: { name: CIPHER, iv: iv.toString('base64'), tag: cipher.getAuthTag().toString('base64') },
      ciphertext: ciphertext.toString('base64'),
    } as const;
    const file: KeystoreFile = { ...unsummed, checksum: checksumOf(unsummed) };
    return `${JSON.stringify(file, null, 2)}\n`;
  } finally {
    key.fill(0);
  }
}

async function readKeystore(path: string, cost: number): Promise<KeystoreFile> {
  return parseKeystore(await readPrivateFile(path, FILE_BYTES_MAX), path, cost);
}

function requirePurpose(file: KeystoreFile, purpose: KeystorePurpose, path: string): void {
  if (file.purpose === purpose) return;
  throw walletError('KEYSTORE_WRONG_PURPOSE', `${path} holds a ${file.purpose}, not a ${purpose}`, { path });
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** A file must not pass for another purpose, key or version. */
function additionalData(version: number, purpose: string, keyId: string): Buffer {
  return Buffer.from(`${version}|${purpose}|${keyId}`, 'utf8');
}

/** NFKC: the same passphrase typed on another system has the same bytes. */
function deriveKey(passphrase: string, salt: Uint8Array, cost: number): Promise<Buffer> {
  const { n, r, p } = kdfOf(cost);
  const bytes = Buffer.from(passphrase.normalize('NFKC'), 'utf8');
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  scrypt(bytes, salt, KEY_BYTES, { N: n, r, p, maxmem: SCRYPT_BYTES_MAX }, (error, key) => {
    bytes.fill(0);
    if (error === null) resolve(key);
    else reject(error);
  });
  return promise;
}

function checksumOf(file: Omit<KeystoreFile, 'checksum'>): string {
  return createHash('sha256').update(JSON.stringify(file)).digest('hex');
}

function parseKeystore(text: string, path: string, cost: number): KeystoreFile {
  const damaged = (why: string): never => {
    throw walletError('KEYSTORE_DAMAGED', `${path} is damaged or not a keystore: ${why}`, { path });
  };
  const read = readJson(text);
  if (!read.ok) return damaged(read.mistake);
  const json = read.value;
  if (typeof json !== 'object' || json === null) return damaged('it is not an object');
  const { checksum, ...unsummed } = json as KeystoreFile;
  if (unsummed.format !== FORMAT) damaged(`its format is not ${FORMAT}`);
  if (checksumOf(unsummed) !== checksum) damaged('its checksum does not match');
  // The file is unchanged. The remaining checks require that this version wrote it.
  if (unsummed.version !== VERSION) damaged(`its version is not ${VERSION}`);
  const { salt, ...kdf } = (unsummed.kdf as Partial<KeystoreFile['kdf']> | null) ?? {};
  if (JSON.stringify(kdf) !== JSON.stringify(kdfOf(cost)))
    damaged('its key derivation differs from that of its version');
  const cipher = (unsummed.cipher as Partial<KeystoreFile['cipher']> | null) ?? {};
  if (typeof unsummed.keyId !== 'string' || typeof unsummed.ciphertext !== 'string')
    damaged('a field is missing');
  const bytes = (encoded: unknown): number =>
    typeof encoded === 'string' ? Buffer.from(encoded, 'base64').length : 0;
  const wrongLength =
    bytes(salt) !== SALT_BYTES || bytes(cipher.iv) !== IV_BYTES || bytes(cipher.tag) !== TAG_BYTES;
  if (cipher.name !== CIPHER || wrongLength) damaged('its cipher differs from that of its version');
  return { ...unsummed, checksum };
}
