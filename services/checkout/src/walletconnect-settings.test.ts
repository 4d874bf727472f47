import { expect, test } from 'vitest';
import { walletConnectSettings } from './walletconnect-settings.ts';

const read = (projectId: string | undefined, relayUrl: string | undefined) =>
  walletConnectSettings({ projectId, relayUrl }, { projectId: 'ID', relayUrl: 'RELAY' });
const problems = (projectId: string | undefined, relayUrl: string | undefined) => {
  const found = read(projectId, relayUrl);
  return 'problems' in found ? found.problems : [];
};

test('is off without both settings, and needs both', () => {
  expect(read(undefined, undefined)).toEqual({ settings: undefined });
  expect(problems('a', undefined)).toEqual(['RELAY is missing: ID is set']);
  expect(problems(undefined, 'wss://relay.example')).toEqual(['ID is missing: RELAY is set']);
});

test.each([
  ['wss://relay.example', 'wss://relay.example'],
  ['wss://Relay.example:443/', 'wss://relay.example'],
  ['ws://127.0.0.1:8080', 'ws://127.0.0.1:8080'],
])('takes the relay %s as %s', (relayUrl, origin) => {
  expect(read('abc_-9', relayUrl)).toEqual({ settings: { projectId: 'abc_-9', relayUrl: origin } });
});

test.each([
  'relay.example',
  'https://relay.example',
  'ws://relay.example',
  'wss://relay.example/path',
  'wss://relay.example/?a=1',
  'wss://user:secret@relay.example',
  'wss://relay.example; script-src *',
])('rejects the relay %s', (relayUrl) => {
  expect(problems('a', relayUrl)).toEqual([
    'RELAY must be wss:// and a host, without a path, for example wss://relay.example.com',
  ]);
});

test.each(['', 'a b', '"', 'a'.repeat(65)])('rejects the project id %j', (projectId) => {
  expect(problems(projectId, 'wss://relay.example')).toEqual([
    'ID must have 1 to 64 letters, digits, _ or -',
  ]);
});
