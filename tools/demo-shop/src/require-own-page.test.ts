import type { Request, Response } from 'express';
import { expect, it } from 'vitest';
import { requireOwnPage } from './require-own-page.ts';

function isAccepted(method: string, headers: Request['headers'], path = '/'): boolean {
  let accepted = false;
  try {
    requireOwnPage({ method, headers, path } as Request, {} as Response, () => (accepted = true));
  } catch {
    accepted = false;
  }
  return accepted;
}

const OWN = { host: 'localhost:3011', origin: 'http://localhost:3011' };

it.each([
  ['a program without both headers', 'POST', { host: OWN.host }, true],
  ['a form of the shop', 'POST', { ...OWN, 'sec-fetch-site': 'same-origin' }, true],
  ['an old browser on the shop', 'POST', OWN, true],
  ['a link from another site', 'GET', { ...OWN, 'sec-fetch-site': 'cross-site' }, true],
  ['a form of another site', 'POST', { ...OWN, origin: 'https://evil.example' }, false],
  ['a form of another port', 'POST', { ...OWN, origin: 'http://localhost:4000' }, false],
  ['a page without an origin', 'POST', { ...OWN, origin: 'null' }, false],
  ['another site without an origin', 'POST', { host: OWN.host, 'sec-fetch-site': 'cross-site' }, false],
] as const)('decides about %s', (_who, method, headers, expected) => {
  expect(isAccepted(method, headers)).toBe(expected);
});

it.each([
  ['localhost', true],
  ['127.0.0.1:3011', true],
  ['[::1]:3011', true],
  ['localhost:49152', true],
  ['rebound.example:3011', false],
  ['localhost.rebound.example', false],
  ['192.168.1.5:3011', false],
  ['a b', false],
  [undefined, false],
] as const)('decides whether requests for the host %s are for this machine', (host, expected) => {
  const headers = host === undefined ? {} : { host };
  for (const path of ['/', '/devnet.json', '/callbacks.json'])
    expect(isAccepted('GET', headers, path)).toBe(expected);
  for (const path of ['/devnet/pay', '/callbacks/forward'])
    expect(isAccepted('POST', headers, path)).toBe(expected);
});

it('accepts callbacks for the name of its container', () => {
  expect(isAccepted('POST', { host: 'demo-shop:3011' }, '/callbacks')).toBe(true);
  expect(isAccepted('GET', { host: 'demo-shop:3011' }, '/callbacks')).toBe(false);
});
