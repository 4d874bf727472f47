import { readFileSync, writeFileSync } from 'node:fs';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { LOCAL_NETWORKS_FILE } from './checkout.ts';
import { EVM_DEVNET_CHAINS, type EvmDevnetChain, type GatewayOptions } from './gateway-options.ts';

/** An EVM network of the local profile. */
export type EvmDevnetNetwork = NetworkConfig & { readonly chain: EvmDevnetChain; readonly chainId: number };
/** The TRON network of the local profile. */
export type TronDevnetNetwork = NetworkConfig & { readonly chain: 'TRON_TEST'; readonly genesisId: string };

/** The SUI network of the local profile. */
export type SuiDevnetNetwork = NetworkConfig & { readonly chain: 'SUI_TEST'; readonly genesisId: string };

/** The networks of the local profile. */
export interface DevnetNetworks {
  readonly evm: readonly EvmDevnetNetwork[];
  /** Undefined where nobody scans it. */
  readonly tron: TronDevnetNetwork | undefined;
  readonly sui: SuiDevnetNetwork | undefined;
}

type WriteOptions = Pick<GatewayOptions, 'ports' | 'networkChanges' | 'blockTimeSeconds' | 'services'>;

/** Writes the run's own network file, deploy/networks/local.json on the run's ports, and answers with its networks. */
export function writeNetworks(file: string, options: WriteOptions): DevnetNetworks {
  const template = parseNetworkFile(readFileSync(LOCAL_NETWORKS_FILE, 'utf8'), LOCAL_NETWORKS_FILE);
  const evm = template.filter(isEvmDevnet).map((network) => evmOnPorts(network, options));
  const tron = runs('scanner-tron', options)
    ? template.filter(isTronDevnet).map((network) => tronOnPorts(network, options))
    : [];
  const sui = runs('scanner-sui', options)
    ? template.filter(isSuiDevnet).map((network) => suiOnPorts(network, options))
    : [];
  const text = JSON.stringify({ networks: [...evm, ...tron, ...sui] }, null, 2);
  parseNetworkFile(text, file);
  writeFileSync(file, text, { mode: 0o644 });
  return { evm, tron: tron[0], sui: sui[0] };
}

/** All of them. */
export function devnetNetworks({ evm, tron, sui }: DevnetNetworks): readonly NetworkConfig[] {
  return [...evm, ...(tron === undefined ? [] : [tron]), ...(sui === undefined ? [] : [sui])];
}

function isEvmDevnet(network: NetworkConfig): network is EvmDevnetNetwork {
  return (EVM_DEVNET_CHAINS as readonly string[]).includes(network.chain) && network.chainId !== undefined;
}

function isTronDevnet(network: NetworkConfig): network is TronDevnetNetwork {
  return network.chain === 'TRON_TEST' && network.genesisId !== undefined;
}

function isSuiDevnet(network: NetworkConfig): network is SuiDevnetNetwork {
  return network.chain === 'SUI_TEST' && network.genesisId !== undefined;
}

function evmOnPorts(network: EvmDevnetNetwork, options: WriteOptions): EvmDevnetNetwork {
  const port = options.ports.chains[network.chain];
  return {
    ...payable(network, options),
    ...options.networkChanges,
    rpcUrls: [`http://127.0.0.1:${port}`],
    wsUrl: `ws://127.0.0.1:${port}`,
  };
}

function tronOnPorts(network: TronDevnetNetwork, options: WriteOptions): TronDevnetNetwork {
  return { ...payable(network, options), rpcUrls: [`http://127.0.0.1:${options.ports.chains.TRON_TEST}`] };
}

/** Checkpoints come four times a second, whatever the blocks of the others do. */
function suiOnPorts(network: SuiDevnetNetwork, options: WriteOptions): SuiDevnetNetwork {
  const rpcUrls = [`http://127.0.0.1:${options.ports.chains.SUI_TEST}`];
  return { ...payable(network, options), blockTimeMs: network.blockTimeMs, rpcUrls };
}

/** With the run's block time, and with payouts if there is somebody to sign them. */
function payable<Network extends NetworkConfig>(network: Network, options: WriteOptions): Network {
  const { payouts: _, ...unpayable } = network;
  const { blockTimeSeconds } = options;
  return {
    ...(runs('payout-signer', options) ? network : (unpayable as Network)),
    ...(blockTimeSeconds === undefined ? {} : { blockTimeMs: blockTimeSeconds * 1_000 }),
  };
}

/** None named: all run. */
function runs(
  service: NonNullable<WriteOptions['services']>[number],
  { services = [] }: WriteOptions,
): boolean {
  return services.length === 0 || services.includes(service);
}
