import { expect, it } from 'vitest';
import { isOwnHost } from './docs.ts';

it.each([
  ['localhost:3010', undefined, true],
  ['127.0.0.1:3010', undefined, true],
  ['[::1]:3010', undefined, true],
  ['pay.example.com', 'https://pay.example.com', true],
  ['PAY.example.com:443', 'https://pay.example.com', true],
  ['rebound.example:3010', 'https://pay.example.com', false],
  ['127.0.0.1.rebound.example', undefined, false],
  ['localhost.rebound.example', undefined, false],
  ['192.168.1.5:3010', 'http://localhost:3010', false],
  ['a b', undefined, false],
  [undefined, undefined, false],
])('decides whether the host %s is its own, with the base URL %s', (host, gatewayUrl, expected) => {
  expect(isOwnHost(host, gatewayUrl)).toBe(expected);
});
