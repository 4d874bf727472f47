import { describe, expect, it } from 'vitest';
import { createAddressGuard } from './forbidden-addresses.ts';
import { EndpointRefused, resolveEndpoint, type AddressRules } from './resolve-endpoint.ts';

const rules = (addresses: readonly string[], allowHttp = false): AddressRules => ({
  guard: createAddressGuard([]),
  allowHttp,
  resolveHost: async () => addresses,
});

describe('resolveEndpoint', () => {
  it('pins the address that was checked', async () => {
    const endpoint = await resolveEndpoint('https://shop.example/callbacks', rules(['8.8.8.8', '1.1.1.1']));
    expect(endpoint.address).toBe('8.8.8.8');
    expect(endpoint.url.hostname).toBe('shop.example');
  });

  it('rejects a name with one forbidden address', async () => {
    await expect(resolveEndpoint('https://shop.example/', rules(['8.8.8.8', '10.0.0.1']))).rejects.toThrow(
      '10.0.0.1',
    );
  });

  it.each([
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://0/',
    'https://１２７.0.0.1/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://127.0.0.1./',
    'https://169.254.169.254/latest/meta-data',
  ])('rejects the literal %s without a lookup', async (url) => {
    const never: AddressRules = { ...rules([]), resolveHost: () => Promise.reject(new Error('looked up')) };
    await expect(resolveEndpoint(url, never)).rejects.toThrow(EndpointRefused);
  });

  it.each([
    ['http://shop.example/', 'must be https'],
    ['ftp://shop.example/', 'must be https'],
    ['file:///etc/passwd', 'must be https'],
    ['https://user:secret@shop.example/', 'password'],
    ['not a url', 'not a URL'],
    ['https://shop.example:22/', 'port 22'],
    ['https://shop.example:6667/', 'port 6667'],
    ['https://shop.example:0/', 'port 0'],
  ])('rejects the URL %s', async (url, reason) => {
    await expect(resolveEndpoint(url, rules(['8.8.8.8']))).rejects.toThrow(reason);
  });

  it('allows http where it is configured', async () => {
    expect((await resolveEndpoint('http://shop.example/', rules(['8.8.8.8'], true))).url.protocol).toBe(
      'http:',
    );
  });

  it('allows the ports of web servers', async () => {
    for (const port of [443, 80, 8443, 3000, 65535]) {
      const { url } = await resolveEndpoint(`https://shop.example:${port}/`, rules(['8.8.8.8']));
      expect(url.port).toBe(port === 443 ? '' : String(port));
    }
  });

  it('rejects a name without addresses', async () => {
    await expect(resolveEndpoint('https://shop.example/', rules([]))).rejects.toThrow('no address');
  });
});
