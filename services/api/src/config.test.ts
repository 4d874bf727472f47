import { describe, expect, it } from 'vitest';
import { readConfig } from '@opentill/runtime/config';
import { API_CONFIG_SCHEMA, readApiConfig } from './config.ts';

const env = {
  DATABASE_URL: 'postgres://x',
  AMQP_URL: 'amqp://x',
  NETWORKS_FILE: 'n.json',
  PUBLIC_KEYS_FILE: 'k.json',
  SECRETS_KEY: Buffer.alloc(32).toString('base64'),
  CHECKOUT_BASE_URL: 'https://pay.example/checkout',
};

describe('readApiConfig', () => {
  it('has defaults for everything but addresses and secrets', () => {
    expect(readApiConfig(env).app).toEqual({
      port: 3010,
      host: '0.0.0.0',
      checkoutBaseUrl: 'https://pay.example/checkout',
      trustedProxies: [],
      corsOrigins: ['*'],
      timestampWindowSeconds: 300,
      rateLimitStore: 'memory',
      unnamedMerchantsMax: 16,
      unnamedFailuresMax: 10,
      profile: 'production',
      streamLimits: { perOrder: 8, perClientAddress: 64, whole: 2_000 },
      addressesReady: 32_768,
    });
  });

  it.each([
    [{}, undefined],
    [
      { WALLETCONNECT_PROJECT_ID: 'abc', WALLETCONNECT_RELAY_URL: 'wss://relay.example:8443/' },
      { projectId: 'abc', relayUrl: 'wss://relay.example:8443' },
    ],
  ])('offers WalletConnect only when it is set: %j', (settings, walletConnect) => {
    expect(readApiConfig({ ...env, ...settings }).walletConnect).toEqual(walletConnect);
  });

  it('rejects one half of the WalletConnect settings', () => {
    expect(() => readApiConfig({ ...env, WALLETCONNECT_PROJECT_ID: 'abc' })).toThrow(
      'WALLETCONNECT_RELAY_URL is missing: WALLETCONNECT_PROJECT_ID is set',
    );
  });

  it('names every mistake at once', () => {
    const wrong = {
      CHECKOUT_BASE_URL: 'https://x/?a=1',
      PORT: 'high',
      CORS_ORIGINS: 'shop.example',
      PROFILE: 'test',
    };
    expect(() => readConfig(API_CONFIG_SCHEMA, wrong)).toThrow(
      /DATABASE_URL is missing.*AMQP_URL.*NETWORKS_FILE.*PUBLIC_KEYS_FILE.*SECRETS_KEY.*PORT.*CHECKOUT_BASE_URL.*CORS_ORIGINS.*PROFILE/s,
    );
  });
});
