import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import { LOCAL_NETWORKS_FILE } from './checkout.ts';
import { LOCAL_PORTS, SERVICE_NAMES } from './gateway-options.ts';
import { allNetworks, readNetworks, servicesFor } from './write-networks.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'opentill-networks-'));
});
afterAll(() => rm(directory, { recursive: true }));

const read = (environment: Record<string, string>, networksFile?: string) =>
  readNetworks({ ports: LOCAL_PORTS, ownNodes: { environment, networksFile } });

async function fileWith(chains: Record<string, object>): Promise<string> {
  const { networks } = JSON.parse(readFileSync(LOCAL_NETWORKS_FILE, 'utf8')) as {
    networks: { chain: string }[];
  };
  const chosen = networks.filter(({ chain }) => chain in chains).map((n) => ({ ...n, ...chains[n.chain] }));
  const file = join(directory, 'my-networks.json');
  await writeFile(file, JSON.stringify({ networks: chosen }));
  return file;
}

test('starts no devnet for a chain whose node the environment names', async () => {
  const networks = await read({ ETH_SEPOLIA_RPC_URLS: 'http://10.1.1.1:8545', TRON_TEST_RPC_URLS: '' });
  expect(networks.evm.map(({ chain }) => chain)).toEqual(['BSC_TEST']);
  expect(networks.tron?.rpcUrls).toEqual(['http://127.0.0.1:9090']);
  expect(networks.given).toMatchObject([{ chain: 'ETH_SEPOLIA', rpcUrls: ['http://10.1.1.1:8545'] }]);
  expect(networks.given[0]).not.toHaveProperty('wsUrl');
});

test('takes every network of a given file unchanged and runs only their scanners', async () => {
  const rpcUrls = ['http://10.1.1.1:9090'];
  const networks = await read({}, await fileWith({ TRON_TEST: { rpcUrls } }));
  expect(allNetworks(networks)).toMatchObject([{ chain: 'TRON_TEST', rpcUrls }]);
  expect(networks).toMatchObject({ evm: [], tron: undefined, sui: undefined });
  expect(servicesFor(networks)).toEqual(
    SERVICE_NAMES.filter((name) => !['scanner-evm', 'scanner-sui'].includes(name)),
  );
});

test('rejects a main network and a file without enabled networks', async () => {
  const main = await fileWith({ ETH_SEPOLIA: { chain: 'ETH', chainId: 1 } });
  await expect(read({}, main)).rejects.toMatchObject({
    message: expect.stringContaining('ETH, a main network'),
  });
  const none = await fileWith({ ETH_SEPOLIA: { enabled: false } });
  await expect(read({}, none)).rejects.toMatchObject({
    message: expect.stringContaining('enables no network'),
  });
});
