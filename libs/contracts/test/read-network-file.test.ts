import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readNetworkFile } from '../src/read-network-file.ts';

let folder: string;
const at = (name: string): string => join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'networks-'));
  const network = {
    chain: 'ETH',
    family: 'EVM',
    enabled: true,
    chainId: 1,
    name: 'Ethereum',
    rpcUrls: ['https://one.example'],
    nativeSymbol: 'ETH',
    nativeDecimals: 18,
    confirmations: 12,
    blockTimeMs: 12_000,
    pollIntervalMs: 2_000,
    reorgWindow: 128,
    maxBlockRange: 100,
    bloom: true,
    tokens: [
      {
        symbol: 'USDT',
        contract: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
        decimals: 6,
        displayDecimals: 2,
        minAmount: null,
        maxAmount: null,
      },
    ],
  };
  await writeFile(at('networks.json'), JSON.stringify({ networks: [network] }));
  await writeFile(at('urls'), 'https://a.example/secret,https://b.example/secret\n');
});
afterAll(() => rm(folder, { recursive: true }));

describe('readNetworkFile', () => {
  it('readNetworkFile reads endpoints from the file named by a variable', async () => {
    const [network] = await readNetworkFile(at('networks.json'), { ETH_RPC_URLS_FILE: at('urls') });
    expect(network?.rpcUrls).toEqual(['https://a.example/secret', 'https://b.example/secret']);
  });

  it.each<[string, () => [string, Record<string, string>], string]>([
    ['a missing network file', () => [at('nothing'), {}], 'NETWORKS_UNREADABLE'],
    [
      'a missing file of endpoints',
      () => [at('networks.json'), { ETH_RPC_URLS_FILE: at('no') }],
      'NETWORKS_UNREADABLE',
    ],
    [
      'endpoints in a variable and in its file',
      () => [at('networks.json'), { ETH_RPC_URLS_FILE: at('urls'), ETH_RPC_URLS: 'https://c.example' }],
      'NETWORKS_INVALID',
    ],
    [
      'a variable of another family, read from a file',
      () => [at('networks.json'), { ETH_SOLIDITY_URLS_FILE: at('urls') }],
      'NETWORKS_INVALID',
    ],
    ['a text that is not JSON', () => [at('urls'), {}], 'NETWORKS_INVALID'],
  ])('readNetworkFile rejects %s', async (_, make, code) => {
    await expect(readNetworkFile(...make())).rejects.toMatchObject({ code, retryable: false });
  });
});
