import { statSync } from 'node:fs';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { walletError } from './wallet-error.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const WORDS = new Set(wordlist);
const WORDS_MIN = 12;
const WORDS_MAX = 24;
/** BIP-32's and SLIP-132's spellings of an extended private key. */
const EXTENDED_PRIVATE_KEY = /^[a-z]prv[1-9A-HJ-NP-Za-km-z]{100,120}$/;
const PEM_PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;
/** 32 bytes are a private key, 64 are a seed, unless the name says that they are the digest of something. */
const KEY_HEX = /^(0x)?([0-9a-f]{64}|[0-9a-f]{128})$/i;
const DIGEST_NAME = /(^|_)(SHA256|SHA512|DIGEST|CHECKSUM|COMMIT)$/i;
/** Also of a passphrase by whatever name. Of programs that ask for one, and of what only sounds like it, no. */
const PASS_NAME = /(?<!COM|BY|ASK)PASS/i;
/** Passwords of the database and the broker, which are no secrets of the wallet (see readConfig). */
const KNOWN_PASSWORD = /^(DATABASE|AMQP)_PASSWORD(_[A-Z_]+)?$/;
/** Variables that must name a file, and in which somebody might put what belongs into it. */
const SECRET_FILE_NAME = /(PASS|KEYSTORE|POLICY|WORDS|MNEMONIC|SEED|KEY).*_FILE$/i;

/**
 * Throws SECRET_IN_ENVIRONMENT when a mnemonic, a private key, a seed or a passphrase stands in the environment: children
 * inherit it, and other processes of the user can read it. Also when a variable that should name a file with a secret names
 * none, since then it may be the secret itself. Names the variables, never a value.
 */
export function refuseSecretsInEnvironment(env: Environment): void {
  const given = Object.entries(env).flatMap(([name, value]) => {
    const text = value?.trim() ?? '';
    return text === '' ? [] : [[name, text] as const];
  });
  const secrets = given.filter(([name, value]) => isSecret(name, value)).map(([name]) => name);
  const noFiles = given
    .filter(([name, value]) => !secrets.includes(name) && SECRET_FILE_NAME.test(name) && !isFile(value))
    .map(([name]) => name);
  const wrongs = [
    ...(secrets.length === 0
      ? []
      : [
          `a secret of the wallet stands in the environment, in ${secrets.join(', ')}: ` +
            'take it out, and give the passphrase in a file (PASSPHRASE_FILE)',
        ]),
    ...(noFiles.length === 0
      ? []
      : [`${noFiles.join(', ')} must be the path of a file that is there, and not what belongs into it`]),
  ];
  if (wrongs.length === 0) return;
  throw walletError('SECRET_IN_ENVIRONMENT', wrongs.join('; '), { variables: [...secrets, ...noFiles] });
}

function isSecret(name: string, value: string): boolean {
  if (isMnemonic(value) || EXTENDED_PRIVATE_KEY.test(value) || PEM_PRIVATE_KEY.test(value)) return true;
  if (KEY_HEX.test(value)) return !DIGEST_NAME.test(name);
  if (SECRET_FILE_NAME.test(name)) return false; // looked at as the name of a file
  return PASS_NAME.test(name) && !KNOWN_PASSWORD.test(name) && !isFile(value);
}

/** Whether something but a directory is there; also where only a name in it can't be looked at. */
function isFile(path: string): boolean {
  try {
    return !statSync(path).isDirectory();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/** Without the checksum: also a phrase with a slip in it gives its words away. */
function isMnemonic(value: string): boolean {
  const words = value
    .normalize('NFKD')
    .toLowerCase()
    .split(/[\s,]+/);
  return words.length >= WORDS_MIN && words.length <= WORDS_MAX && words.every((word) => WORDS.has(word));
}
