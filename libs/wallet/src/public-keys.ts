import { readFile } from 'node:fs/promises';
import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import type { Family, NetworkKind } from '@opentill/domain/chains';
import { FAMILIES } from '@opentill/domain/chains';
import { readJson } from '@opentill/domain/read-json';
import { depositBranch, depositXpub, hotWalletPublicKey, seedFingerprint } from './derivation.ts';
import { walletError } from './wallet-error.ts';
import { writeFileAtomically } from './write-file-atomically.ts';

export interface FamilyPublicKeys {
  readonly depositXpub: string;
  /** Canonical form. Empty while the family has no address codec. */
  readonly hotWallets: readonly Address[];
}

type Families = Readonly<Record<Family, FamilyPublicKeys>>;

export interface PublicKeys {
  readonly fingerprint: string;
  readonly main: Families;
  /** Undefined in a file of version 1, which has only main networks. */
  readonly test: Families | undefined;
}

export interface WalletPublicKeys {
  readonly fingerprint: string;
  readonly kind: NetworkKind;
  readonly families: Families;
}

const FORMAT = 'opentill-public-keys';
const VERSION = 2;
/** Public, but not harmless: with one leaked child key they reveal the others (SECURITY.md). */
const OWNER_AND_GROUP = 0o640;

/** Hot wallet addresses only of families with a codec. Does not zero `seed`. */
export function publicKeysOf(seed: Uint8Array, codecs: readonly AddressCodec[]): PublicKeys {
  const keysOf = (family: Family, kind: NetworkKind): FamilyPublicKeys => ({
    depositXpub: depositXpub(seed, family, kind),
    hotWallets: codecs
      .filter((codec) => codec.family === family)
      .map((codec) => codec.fromPublicKey(hotWalletPublicKey(seed, family, kind))),
  });
  return {
    fingerprint: seedFingerprint(seed),
    main: everyFamily((family) => keysOf(family, 'main')),
    test: everyFamily((family) => keysOf(family, 'test')),
  };
}

/** Throws PUBLIC_KEYS_OUTDATED for test networks in a file of version 1. */
export function publicKeysFor(keys: PublicKeys, kind: NetworkKind): WalletPublicKeys {
  const families = keys[kind];
  if (families === undefined) {
    throw walletError(
      'PUBLIC_KEYS_OUTDATED',
      'the public key file has version 1, without the keys of test networks. Write it again: opentill keys renew-public',
      { kind },
    );
  }
  return { fingerprint: keys.fingerprint, kind, families };
}

function everyFamily<T>(of: (family: Family) => T): Readonly<Record<Family, T>> {
  return { EVM: of('EVM'), TRON: of('TRON'), SUI: of('SUI') };
}

export async function writePublicKeys(path: string, keys: PublicKeys): Promise<void> {
  const { fingerprint, main: families, test: testFamilies } = keys;
  const version = testFamilies === undefined ? 1 : VERSION;
  const file = { format: FORMAT, version, fingerprint, families, testFamilies };
  const text = `${JSON.stringify(file, null, 2)}\n`;
  await writeFileAtomically(path, text, { mode: OWNER_AND_GROUP, replace: true });
}

export async function readPublicKeys(path: string, codecs: readonly AddressCodec[]): Promise<PublicKeys> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw walletError('FILE_UNREADABLE', `${path} cannot be read`, { path }, cause);
  });
  return parsePublicKeys(text, codecs);
}

/** Throws PUBLIC_KEYS_INVALID with all mistakes but no value, because a value may be a misplaced private key. */
export function parsePublicKeys(text: string, codecs: readonly AddressCodec[]): PublicKeys {
  const mistakes: string[] = [];
  const keys = collectMistakes(parseJson(text), codecs, mistakes);
  if (mistakes.length > 0) {
    throw walletError('PUBLIC_KEYS_INVALID', `the public key file is invalid: ${mistakes.join('; ')}`, {
      mistakes,
    });
  }
  return keys;
}

type Fields = Readonly<Record<string, unknown>>;

function parseJson(text: string): unknown {
  const read = readJson(text);
  if (read.ok) return read.value;
  throw walletError('PUBLIC_KEYS_INVALID', `the public key file is invalid: ${read.mistake}`);
}

function fieldsOf(value: unknown, path: string, names: readonly string[], mistakes: string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    mistakes.push(`${path} is not an object`);
    return {};
  }
  for (const name of names) if (!Object.hasOwn(value, name)) mistakes.push(`${path}.${name} is missing`);
  for (const name of Object.keys(value))
    if (!names.includes(name)) mistakes.push(`${path}.${name} is unknown`);
  return value as Fields;
}

function collectMistakes(json: unknown, codecs: readonly AddressCodec[], mistakes: string[]): PublicKeys {
  const isOld = typeof json === 'object' && json !== null && 'version' in json && json.version === 1;
  const names = ['format', 'version', 'fingerprint', 'families', ...(isOld ? [] : ['testFamilies'])];
  const file = fieldsOf(json, 'file', names, mistakes);
  if (file['format'] !== FORMAT) mistakes.push(`file.format is not ${FORMAT}`);
  if (!isOld && file['version'] !== VERSION) mistakes.push(`file.version is not 1 or ${VERSION}`);
  const { fingerprint } = file;
  if (typeof fingerprint !== 'string' || !/^[0-9a-f]{8}$/.test(fingerprint)) {
    mistakes.push('file.fingerprint is not 8 lower-case hex digits');
  }
  const familiesOf = (kind: NetworkKind, name: string): Families => {
    const families = fieldsOf(file[name], name, FAMILIES, mistakes);
    return everyFamily((family) => familyKeys(families[family], { name, family, kind, codecs }, mistakes));
  };
  return {
    fingerprint: String(fingerprint),
    main: familiesOf('main', 'families'),
    test: isOld ? undefined : familiesOf('test', 'testFamilies'),
  };
}

interface Place {
  readonly name: string;
  readonly family: Family;
  readonly kind: NetworkKind;
  readonly codecs: readonly AddressCodec[];
}

function familyKeys(
  value: unknown,
  { name, family, kind, codecs }: Place,
  mistakes: string[],
): FamilyPublicKeys {
  const path = `${name}.${family}`;
  const fields = fieldsOf(value, path, ['depositXpub', 'hotWallets'], mistakes);
  const xpub = typeof fields['depositXpub'] === 'string' ? fields['depositXpub'] : '';
  try {
    depositBranch(xpub, kind);
  } catch (error) {
    const why = error instanceof TypeError ? error.message : 'not base58 with a checksum';
    mistakes.push(`${path}.depositXpub: ${why}`);
  }
  const hotWallets: readonly unknown[] = Array.isArray(fields['hotWallets'])
    ? fields['hotWallets']
    : [undefined];
  const codec = codecs.find((candidate) => candidate.family === family);
  hotWallets.forEach((address, place) => {
    const valid = typeof address === 'string' && (codec === undefined || codec.parse(address) === address);
    if (!valid) mistakes.push(`${path}.hotWallets[${place}] is not a canonical address`);
  });
  return { depositXpub: xpub, hotWallets: hotWallets as readonly Address[] };
}
