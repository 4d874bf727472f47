import { expect, test } from 'vitest';
import { findSecrets, rowsOfWords } from './find-secrets.ts';

const secret = { name: 'the passphrase', bytes: Buffer.from('pass "phrase"/ä!') };
const key = { name: 'the key', bytes: Buffer.from('00ff'.repeat(16), 'hex') };

test.each([
  ['in plain text', 'x pass "phrase"/ä! x'],
  ['in JSON', JSON.stringify({ a: 'pass "phrase"/ä!' })],
  ['in a URL', `postgres://x:${encodeURIComponent('pass "phrase"/ä!')}@h`],
  ['in base64', `Basic ${secret.bytes.toString('base64')}`],
  ['in hex', secret.bytes.toString('hex').toUpperCase()],
])('finds a secret %s', (_how, text) => {
  expect(findSecrets([{ name: 'a log', text }], [secret])).toEqual(['a log has the passphrase']);
});

test('finds bytes in the notations of Postgres and Node', () => {
  for (const text of [`\\x${'00ff'.repeat(16)}`, `0x${'00FF'.repeat(16)}`, key.bytes.toString('base64url')])
    expect(findSecrets([{ name: 'a row', text }], [key])).toEqual(['a row has the key']);
});

test('reports no similar text, and rejects a secret that is too short', () => {
  expect(findSecrets([{ name: 'a log', text: 'pass phrase' }], [secret, key])).toEqual([]);
  expect(() => findSecrets([], [{ name: 'short', bytes: Buffer.from('abc') }])).toThrow(RangeError);
});

test('finds any three consecutive words of a mnemonic', () => {
  const words = ['abandon', 'ability', 'able', 'about', 'above'];
  expect(rowsOfWords(words).map(({ name }) => name)).toEqual([
    'words 1 to 3',
    'words 2 to 4',
    'words 3 to 5',
  ]);
  expect(findSecrets([{ name: 'a log', text: 'x ability able about y' }], rowsOfWords(words))).toHaveLength(
    1,
  );
});
