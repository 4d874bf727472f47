import { describe, expect, it } from 'vitest';
import type { NetworkConfig } from './network-config.ts';
import { findSourceRisks, requireSafeSources } from './source-risks.ts';

const network = (change: Partial<NetworkConfig>): NetworkConfig =>
  ({ chain: 'TRON', enabled: true, rpcUrls: [], ...change }) as NetworkConfig;
const risksOf = (rpcUrls: readonly string[], change: Partial<NetworkConfig> = {}) =>
  findSourceRisks([network({ rpcUrls, ...change })]).map(({ kind, hosts }) => [kind, ...hosts]);

describe('sources of a main network', () => {
  it.each([
    ['another port', 'https://a.example', 'https://a.example:8443'],
    ['another path and key', 'https://k1@a.example/v1/one', 'https://k2@a.example/v1/two'],
    ['other case', 'https://A.Example', 'https://a.example/x'],
    ['a trailing dot', 'https://a.example.', 'https://a.example'],
  ])('two URLs on one host are the same source: %s', (_what, one, other) => {
    expect(risksOf([one, other])).toEqual([['same-host', 'a.example']]);
  });

  it('one address in two notations is the same source', () => {
    expect(risksOf(['https://0xa.0x1:1', 'https://[::ffff:10.0.0.1]:2'])).toEqual([
      ['same-host', '10.0.0.1'],
    ]);
    expect(risksOf(['http://127.0.0.1:1', 'http://localhost:2'])).toEqual([['same-host', 'localhost']]);
  });

  it('a solidity URL may share the host of its own node, but not of another', () => {
    const rpcUrls = ['https://a.example:8090', 'https://b.example:8090'];
    const solid = (...solidityUrls: string[]) => risksOf(rpcUrls, { solidityUrls });
    expect(solid('https://a.example:8091', 'https://b.example:8091')).toEqual([]);
    expect(solid('https://a.example:8091', 'https://a.example:8092')).toEqual([['same-host', 'a.example']]);
  });

  it('sources must use https except on this machine', () => {
    for (const url of ['http://127.0.0.1:1', 'http://localhost.', 'http://[::1]:3', 'http://node.localhost'])
      expect(risksOf([url])).toEqual([]);
    expect(risksOf(['http://10.0.0.7', 'https://a.example'])).toEqual([['plain-http', '10.0.0.7']]);
    expect(risksOf(['http://127.1.evil.example'])).toEqual([['plain-http', '127.1.evil.example']]);
  });

  it('subscriptions must use wss except on this machine', () => {
    const riskOf = (wsUrl: string) => risksOf(['https://a.example'], { wsUrl });
    expect(riskOf('ws://10.0.0.7:8546')).toEqual([['plain-http', '10.0.0.7']]);
    for (const wsUrl of ['wss://a.example', 'ws://localhost:8546']) expect(riskOf(wsUrl)).toEqual([]);
  });

  it('test networks and disabled networks are not checked', () => {
    const rpcUrls = ['http://10.0.0.7:1', 'http://10.0.0.7:2'];
    expect(risksOf(rpcUrls, { chain: 'TRON_TEST' })).toEqual([]);
    expect(risksOf(rpcUrls, { enabled: false })).toEqual([]);
  });

  it("requireSafeSources throws the correction without a provider's key", () => {
    const networks = [network({ rpcUrls: ['http://secret@a.example/1', 'http://secret@a.example/2'] })];
    expect(() => requireSafeSources(networks, [])).toThrow(
      expect.objectContaining({
        code: 'SOURCES_UNSAFE',
        message: expect.stringMatching(/TRON_RPC_URLS.*SOURCE_RISKS_ACCEPTED=same-host.*=plain-http/),
      }),
    );
    expect(() => requireSafeSources(networks, ['same-host'])).toThrow(/plain http to a\.example/);
    expect(() => requireSafeSources(networks, [])).not.toThrow(/secret/);
    expect(() => requireSafeSources(networks, ['same-host', 'plain-http'])).not.toThrow();
  });
});
