import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { createCollectionCommand, createPayoutCommand, summaryScreen, withoutPassword } from './summary.ts';

const source = {
  apiUrl: 'http://localhost:3010',
  shopUrl: 'http://localhost:3011',
  opsUrl: 'http://127.0.0.1:3012',
  operatorTokenFile: '/state/keys/operator-token',
  approver: { approverKeyFile: '/state/keys/approver', approverPassphraseFile: '/state/keys/approver-pass' },
  merchant: {
    token: 'a token',
    webhookSecret: 'a secret',
    callbackUrl: 'http://localhost:3011/callbacks',
    version: 'V3',
  },
  chains: [
    {
      chain: 'ETH_SEPOLIA',
      rpcUrl: 'http://127.0.0.1:8545',
      blockTimeMs: 1_000,
      symbol: 'USDT',
      hasDevnet: true,
    },
  ],
  database: 'postgres://opentill@127.0.0.1:5432/opentill',
  broker: 'amqp://guest:***@127.0.0.1:5672',
  logs: '/state/logs',
  orderId: 'first-1',
  keep: false,
} as const;

test.each([
  [
    createCollectionCommand(source),
    { orderId: 'first-1', amount: '12.50', symbol: 'USDT', chain: 'ETH_SEPOLIA', uid: 'customer-1' },
  ],
  [
    createPayoutCommand(source),
    {
      orderId: 'first-1-out',
      amount: '5.00',
      symbol: 'USDT',
      chain: 'ETH_SEPOLIA',
      receiveAddress: '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720',
    },
  ],
])('prints commands that send a body with a valid signature from a shell', (shown, data) => {
  const command = shown.replace(/^\s*curl .* -d /, 'printf %s ');
  const body = JSON.parse(execFileSync('/bin/sh', ['-c', command], { encoding: 'utf8' })) as Record<
    string,
    unknown
  >;
  const sign = createHmac('sha256', 'a token').update(JSON.stringify(body['data'])).digest('hex');
  expect(body).toEqual({
    sign,
    timestamp: expect.any(Number),
    nonce: expect.stringMatching(/^[0-9a-f]{24}$/),
    data,
  });
});

test('prints addresses, credentials and first commands', () => {
  const screen = summaryScreen(source);
  for (const part of [
    'http://localhost:3010',
    'http://localhost:3011',
    'a token',
    'http://127.0.0.1:8545',
    '/state/logs',
    'http://127.0.0.1:3012',
    '/state/keys/operator-token',
    '--key-file /state/keys/approver --passphrase-file /state/keys/approver-pass',
    '--keep',
  ]) {
    expect(screen).toContain(part);
  }
});

test('prints no devnet step for a network with external nodes', () => {
  const chains = [{ ...source.chains[0], hasDevnet: false }];
  expect(summaryScreen({ ...source, chains })).not.toMatch(/devnet\/pay|createPayout/);
});

test('prints no passwords', () => {
  expect(withoutPassword('amqp://guest:hidden@127.0.0.1:5672/x')).not.toContain('hidden');
  expect(withoutPassword('postgres://opentill@127.0.0.1:1/x')).toBe('postgres://opentill@127.0.0.1:1/x');
});
