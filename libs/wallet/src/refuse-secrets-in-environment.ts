import { statSync } from 'node:fs';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { walletError } from './wallet-error.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const WORDS = new Set(wordlist);
const WORDS_MIN = 12;
const WORDS_MAX = 24;
const EXTENDED_PRIVATE_KEY = /^[a-z]prv[1-9A-HJ-NP-Za-km-z]{100,120}$/;
const PEM_PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;
/** 32 bytes can be a private key, 64 a seed, unless the name marks them as a digest. */
const KEY_HEX = /^(0x)?([0-9a-f]{64}|[0-9a-f]{128})$/i;
const DIGEST_NAME = /(^|_)(SHA256|SHA512|DIGEST|CHECKSUM|COMMIT)$/i;
/** Any name of a passphrase, but not programs that ask for one (ASKPASS) or words like COMPASS and BYPASS. */
const PASS_NAME = /(?<!COM|BY|ASK)PASS/i;
/** Passwords of database and broker are no wallet secrets (see readConfig). */
const KNOWN_PASSWORD = /^(DATABASE|AMQP)_PASSWORD(_[A-Z_]+)?$/;
/** Must name a file; operators may put the contents there by mistake. */
const SECRET_FILE_NAME = /(PASS|KEYSTORE|POLICY|WORDS|MNEMONIC|SEED|KEY).*_FILE$/i;

/**
 * Child processes inherit the environment, and other processes of the user can read it. A variable for a secret file
 * must name a file, because its value may be the secret. Throws SECRET_IN_ENVIRONMENT with names, never values.
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
  const mistakes = [
    ...(secrets.length === 0
      ? []
      : [
          `the environment contains a secret of the wallet, in ${secrets.join(', ')}: ` +
            'remove it, and put the passphrase into a file (PASSPHRASE_FILE)',
        ]),
    ...(noFiles.length === 0
      ? []
      : [`${noFiles.join(', ')} must be the path of an existing file, not its contents`]),
  ];
  if (mistakes.length === 0) return;
  throw walletError('SECRET_IN_ENVIRONMENT', mistakes.join('; '), { variables: [...secrets, ...noFiles] });
}

function isSecret(name: string, value: string): boolean {
  if (isMnemonic(value) || EXTENDED_PRIVATE_KEY.test(value) || PEM_PRIVATE_KEY.test(value)) return true;
  if (KEY_HEX.test(value)) return !DIGEST_NAME.test(name);
  if (SECRET_FILE_NAME.test(name)) return false; // checked as a file name
  return PASS_NAME.test(name) && !KNOWN_PASSWORD.test(name) && !isFile(value);
}

/** Anything except a directory, also when its permissions hide it. */
function isFile(path: string): boolean {
  try {
    return !statSync(path).isDirectory();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

/** Ignores the checksum: a phrase with a typing error also reveals its words. */
function isMnemonic(value: string): boolean {
  const words = value
    .normalize('NFKD')
    .toLowerCase()
    .split(/[\s,]+/);
  return words.length >= WORDS_MIN && words.length <= WORDS_MAX && words.every((word) => WORDS.has(word));
}
