import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createClientAddress } from './client-address.ts';

function ask(
  remoteAddress: string | undefined,
  forwarded: string | undefined,
  trusted: readonly string[] = [],
): string {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return createClientAddress(trusted)({ socket: { remoteAddress }, headers } as unknown as IncomingMessage);
}

describe('createClientAddress', () => {
  it.each([
    ['203.0.113.9', undefined, [], '203.0.113.9'],
    ['::ffff:203.0.113.9', undefined, [], '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', undefined, [], '2001:db8:1:2::/64'],
    ['203.0.113.9', '198.51.100.1', [], '203.0.113.9'],
    ['203.0.113.9', '198.51.100.1', ['10.0.0.0/8'], '203.0.113.9'],
    ['10.0.0.1', '198.51.100.1', ['10.0.0.0/8'], '198.51.100.1'],
    ['::ffff:10.0.0.1', '198.51.100.1', ['10.0.0.0/8'], '198.51.100.1'],
    ['10.0.0.1', 'spoofed, 198.51.100.1', ['10.0.0.0/8'], '198.51.100.1'],
    ['10.0.0.1', '1.1.1.1, 198.51.100.1, 10.2.2.2', ['10.0.0.0/8'], '198.51.100.1'],
    ['10.0.0.1', '10.3.3.3, 10.2.2.2', ['10.0.0.0/8'], '10.3.3.3'],
    ['10.0.0.1', undefined, ['10.0.0.1'], '10.0.0.1'],
    ['10.0.0.1', '', ['10.0.0.1'], '10.0.0.1'],
    ['10.0.0.1', 'nonsense', ['10.0.0.1'], '10.0.0.1'],
    ['10.0.0.1', '2130706433', ['10.0.0.1'], '10.0.0.1'],
    ['10.0.0.1', '0x7f.1', ['10.0.0.1'], '10.0.0.1'],
    ['fd00::1', '2001:db8::1', ['fd00::/8'], '2001:db8::/64'],
    [undefined, undefined, [], 'unknown'],
  ])('reads %s with X-Forwarded-For %s behind %j as %s', (remote, forwarded, trusted, expected) => {
    expect(ask(remote, forwarded, trusted)).toBe(expected);
  });

  it.each(['nonsense', '10.0.0.0/33', '10.0.0/8x'])('rejects the trusted proxy %s', (entry) => {
    expect(() => createClientAddress([entry])).toThrow(
      expect.objectContaining({ code: 'TRUSTED_PROXIES_INVALID' }),
    );
  });
});
