import { expect, it } from 'vitest';
import { mayShowToken } from './docs.ts';

it.each([
  ['localhost:3010', 'http://localhost:3010', true],
  ['127.0.0.1:3010', 'http://localhost:3010', true],
  ['LOCALHOST:3999', 'http://127.0.0.1:3010', true],
  ['[::1]:3010', 'http://[::1]:3010', true],
  ['localhost:3010', 'https://pay.example.com', false], // behind a proxy that replaces the host
  ['localhost:3010', undefined, false],
  ['pay.example.com', 'https://pay.example.com', false],
  ['rebound.example:3010', 'http://localhost:3010', false],
  ['127.0.0.1.rebound.example', 'http://localhost:3010', false],
  ['localhost.rebound.example', 'http://localhost:3010', false],
  ['192.168.1.5:3010', 'http://localhost:3010', false],
  ['a b', 'http://localhost:3010', false],
  [undefined, 'http://localhost:3010', false],
])('decides whether the host %s with the base URL %s sees the token', (host, gatewayUrl, expected) => {
  expect(mayShowToken(host, gatewayUrl)).toBe(expected);
});
