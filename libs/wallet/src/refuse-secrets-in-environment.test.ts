import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { generateMnemonic } from './mnemonic.ts';
import { refuseSecretsInEnvironment } from './refuse-secrets-in-environment.ts';

const HEX32 = '4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318';
const JUNK = 'test test test test test test test test test test test junk';
const XPRV = `xprv${'9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi'}`;

describe('refuseSecretsInEnvironment', () => {
  it.each([
    ['GREETING', JUNK],
    ['ANYTHING', generateMnemonic()],
    ['WORDS', `  ${JUNK.toUpperCase().replaceAll(' ', '\n')} `],
    ['WORDS', JUNK.replaceAll(' ', ',')],
    ['WITH_A_SLIP', JUNK.replace('junk', 'test')],
    ['PRIVATE_KEY', HEX32],
    ['PRIVATE_KEY', `0x${HEX32.toUpperCase()}`],
    ['HOT_WALLET', HEX32],
    ['PK', HEX32],
    ['signer_key', ` ${HEX32}\n`],
    ['SEED', HEX32 + HEX32],
    ['X', XPRV],
    ['X', '-----BEGIN EC PRIVATE KEY-----\nMHQCAQEEI\n'],
    ['PASSPHRASE', 'whatever it is'],
    ['KEYSTORE_PASSPHRASE', 'swordfish'],
    ['WALLET_PASSWORD', 'swordfish'],
    ['ANYTHING', HEX32],
    ['HARMLESS_NAME', `0x${HEX32}`],
    ['MY_PASS', 'swordfish'],
    ['PASSWORD_OF_MINE', 'swordfish'],
    ['PGPASSWORD', 'swordfish'],
    ['PASSPHRASE_FILE', 'correct horse battery staple'],
    ['KEYSTORE_PASSPHRASE_FILE', 'swordfish-swordfish'],
    ['KEYSTORE_FILE', 'swordfish-swordfish'],
    ['PASSPHRASE_FILE', '/nowhere/at/all'],
    ['PASSPHRASE_FILE', '/etc'], // a directory that no stack trace contains
  ])('rejects %s', (name, value) => {
    let refusal: unknown;
    try {
      refuseSecretsInEnvironment({ PATH: '/bin', [name]: value, HARMLESS: '1' });
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toMatchObject({ code: 'SECRET_IN_ENVIRONMENT', context: { variables: [name] } });
    const printed = inspect(refusal, { depth: 10, showHidden: true });
    expect(printed.replaceAll(import.meta.dirname, '')).not.toContain(value.trim().slice(0, 9));
  });

  it('names all variables that may contain secrets at once', () => {
    expect(() => refuseSecretsInEnvironment({ A: JUNK, B: '1', PASSPHRASE: 'x' })).toThrow(
      /in A, PASSPHRASE:/,
    );
  });

  it.each([
    ['PASSPHRASE_FILE', import.meta.filename],
    ['KEYSTORE_FILE', import.meta.filename],
    ['PGPASSFILE', import.meta.filename],
    ['SSH_ASKPASS', '/usr/bin/ask'],
    ['COMPASS', 'north'],
    ['SSL_CERT_FILE', '/nowhere/at/all'],
    ['DATABASE_PASSWORD', 'secret'],
    ['DATABASE_PASSWORD_FILE', import.meta.filename],
    ['PASSPHRASE', ''],
    ['PASSPHRASE', undefined],
    ['GIT_COMMIT_SHA256', HEX32],
    ['DATABASE_URL', 'postgres://opentill_signer:secret@localhost/opentill'],
    ['DATABASE_PASSWORD_SIGNER', 'secret'],
    ['SECRETS_KEY', Buffer.alloc(32, 7).toString('base64')],
    ['GREETING', 'a sentence of words that are no mnemonic at all, however many there are'],
    ['ELEVEN', JUNK.slice(5)],
  ])('accepts %s', (name, value) => {
    expect(() => refuseSecretsInEnvironment({ [name]: value })).not.toThrow();
  });
});
