import { readFileSync, writeFileSync } from 'node:fs';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { LOCAL_NETWORKS_FILE } from './checkout.ts';
import { DEVNET_CHAINS, type DevnetChain, type GatewayOptions } from './gateway-options.ts';

/** A network of the local profile. */
export type DevnetNetwork = NetworkConfig & { readonly chain: DevnetChain; readonly chainId: number };

type WriteOptions = Pick<GatewayOptions, 'ports' | 'networkChanges' | 'blockTimeSeconds' | 'services'>;

/** Writes the run's own network file, deploy/networks/local.json on the run's ports, and answers with its networks. */
export function writeNetworks(file: string, options: WriteOptions): readonly DevnetNetwork[] {
  const template = parseNetworkFile(readFileSync(LOCAL_NETWORKS_FILE, 'utf8'), LOCAL_NETWORKS_FILE);
  const networks = template.filter(isDevnet).map((network) => onPorts(network, options));
  const text = JSON.stringify({ networks }, null, 2);
  parseNetworkFile(text, file);
  writeFileSync(file, text, { mode: 0o644 });
  return networks;
}

function isDevnet(network: NetworkConfig): network is DevnetNetwork {
  return (DEVNET_CHAINS as readonly string[]).includes(network.chain) && network.chainId !== undefined;
}

function onPorts(network: DevnetNetwork, options: WriteOptions): DevnetNetwork {
  const port = options.ports.chains[network.chain];
  const { payouts, ...rest } = network;
  const { services = [] } = options; // none: whoever starts them has a signer among them
  const hasSigner = services.length === 0 || services.includes('payout-signer');
  return {
    ...rest,
    ...(payouts === undefined || !hasSigner ? {} : { payouts }),
    ...(options.blockTimeSeconds === undefined ? {} : { blockTimeMs: options.blockTimeSeconds * 1_000 }),
    ...options.networkChanges,
    rpcUrls: [`http://127.0.0.1:${port}`],
    wsUrl: `ws://127.0.0.1:${port}`,
  };
}
