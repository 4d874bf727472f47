import { wordlist } from '@scure/bip39/wordlists/english.js';
import { walletError } from './wallet-error.ts';

const WORDS = new Set(wordlist);
const WORDS_MIN = 12;
const WORDS_MAX = 24;
/** BIP-32's and SLIP-132's spellings of an extended private key. */
const EXTENDED_PRIVATE_KEY = /^[a-z]prv[1-9A-HJ-NP-Za-km-z]{100,120}$/;
const PEM_PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;
/** 32 bytes are also a hash or another service's key, so the name must speak of a key; 64 bytes are a seed. */
const KEY_HEX = /^(0x)?[0-9a-f]{64}$/i;
const SEED_HEX = /^(0x)?[0-9a-f]{128}$/i;
const KEY_NAME = /KEY|PRIV|SECRET|SEED|MNEMONIC|WALLET|SIGNER|(^|_)PK(_|$)/i;
const PASSPHRASE_NAME = /PASS_?PHRASE|(KEYSTORE|WALLET|SIGNER)_PASS(WORD)?/i;
/** A variable that names a file is what one should use. */
const FILE_NAME = /_(FILE|PATH|DIR)$/i;

/**
 * Throws SECRET_IN_ENVIRONMENT when a mnemonic, a private key, a seed or a keystore's passphrase stands in the
 * environment: children inherit it, and other processes of the user can read it. Names the variables, never a value.
 */
export function refuseSecretsInEnvironment(env: Readonly<Record<string, string | undefined>>): void {
  const variables = Object.entries(env)
    .filter(([name, value]) => value !== undefined && isSecret(name, value.trim()))
    .map(([name]) => name);
  if (variables.length === 0) return;
  throw walletError(
    'SECRET_IN_ENVIRONMENT',
    `a secret of the wallet stands in the environment, in ${variables.join(', ')}: ` +
      'take it out, and give the passphrase in a file (PASSPHRASE_FILE)',
    { variables },
  );
}

function isSecret(name: string, value: string): boolean {
  if (value === '') return false;
  if (isMnemonic(value) || EXTENDED_PRIVATE_KEY.test(value) || PEM_PRIVATE_KEY.test(value)) return true;
  if (SEED_HEX.test(value) || KEY_HEX.test(value)) return KEY_NAME.test(name);
  return PASSPHRASE_NAME.test(name) && !FILE_NAME.test(name);
}

/** Without the checksum: also a phrase with a slip in it gives its words away. */
function isMnemonic(value: string): boolean {
  const words = value
    .normalize('NFKD')
    .toLowerCase()
    .split(/[\s,]+/);
  return words.length >= WORDS_MIN && words.length <= WORDS_MAX && words.every((word) => WORDS.has(word));
}
