import { describe, expect, it } from '@jest/globals';
import { createAddressGuard } from './forbidden-addresses.ts';

const guard = createAddressGuard([]);

describe('createAddressGuard', () => {
  it.each([
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:10.0.0.1',
    '::ffff:0:127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::10.0.0.1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '3fff::1',
    '5f00::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    'localhost',
    '',
    '1.2.3',
    '127.1',
  ])('refuses %s', (address) => {
    expect(guard.isAllowed(address)).toBe(false);
  });

  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::8.8.8.8',
    '2a00:1450:4001::1',
  ])('allows %s', (address) => {
    expect(guard.isAllowed(address)).toBe(true);
  });

  it('allows only what the configuration names', () => {
    const local = createAddressGuard(['127.0.0.1', '10.1.0.0/16', '::1']);
    expect(local.isAllowed('127.0.0.1')).toBe(true);
    expect(local.isAllowed('::ffff:127.0.0.1')).toBe(true);
    expect(local.isAllowed('127.0.0.2')).toBe(false);
    expect(local.isAllowed('10.1.200.3')).toBe(true);
    expect(local.isAllowed('10.2.0.1')).toBe(false);
    expect(local.isAllowed('::1')).toBe(true);
  });

  it('names what is no address in the configuration', () => {
    expect(() => createAddressGuard(['localhost'])).toThrow('localhost');
  });
});
