import { rmSync, writeFileSync } from 'node:fs';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { parseNetworkFile } from '@opentill/contracts/parse-network-file';
import { readNetworkFile } from '@opentill/contracts/read-network-file';
import { isTestNetwork } from '@opentill/contracts/network-kind';
import { FAMILIES } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import { LOCAL_NETWORKS_FILE } from './checkout.ts';
import {
  EVM_DEVNET_CHAINS,
  SERVICE_NAMES,
  type DevnetChain,
  type EvmDevnetChain,
  type GatewayOptions,
  type ServiceName,
} from './gateway-options.ts';

type DevnetNetwork<C extends DevnetChain> = Omit<NetworkConfig, 'chain'> & { readonly chain: C };
export type EvmDevnetNetwork = DevnetNetwork<EvmDevnetChain> & { readonly chainId: number };
export type TronDevnetNetwork = DevnetNetwork<'TRON_TEST'> & { readonly genesisId: string };
export type SuiDevnetNetwork = DevnetNetwork<'SUI_TEST'> & { readonly genesisId: string };

export interface LocalNetworks {
  readonly evm: readonly EvmDevnetNetwork[];
  readonly tron: TronDevnetNetwork | undefined;
  readonly sui: SuiDevnetNetwork | undefined;
  readonly given: readonly NetworkConfig[];
}

export type ReadNetworksErrorCode = 'NO_LOCAL_NETWORK';

type ReadOptions = Pick<
  GatewayOptions,
  'ports' | 'networkChanges' | 'blockTimeSeconds' | 'services' | 'ownNodes'
>;

/** Reads the given network file, or deploy/networks/local.json with this run's ports. Throws NO_LOCAL_NETWORK. */
export async function readNetworks(options: ReadOptions): Promise<LocalNetworks> {
  const { networksFile, environment = {} } = options.ownNodes ?? {};
  const networks = await readNetworkFile(networksFile ?? LOCAL_NETWORKS_FILE, environment);
  const isGiven = ({ chain }: NetworkConfig): boolean =>
    networksFile !== undefined ||
    [`${chain}_RPC_URLS`, `${chain}_RPC_URLS_FILE`].some((name) => Boolean(environment[name]));
  const enabled = networks.filter((network) => network.enabled && isScanned(network, options));
  requireTestNetworks(networksFile, enabled);
  const template = enabled.filter((network) => !isGiven(network));
  return {
    evm: template.filter(isEvmDevnet).map((network) => evmOnPorts(network, options)),
    tron: template.filter(isTronDevnet).map((network) => tronOnPorts(network, options))[0],
    sui: template.filter(isSuiDevnet).map((network) => suiOnPorts(network, options))[0],
    given: enabled.filter(isGiven).map((network) => withoutForeignSocket(network, options)),
  };
}

/** Writes it readable only for its owner: URLs may contain a provider's key. */
export function writeNetworks(file: string, networks: LocalNetworks): void {
  const text = JSON.stringify({ networks: allNetworks(networks) }, null, 2);
  parseNetworkFile(text, file);
  rmSync(file, { force: true }); // an old file may be world-readable
  writeFileSync(file, text, { mode: 0o600 });
}

export function allNetworks({ evm, tron, sui, given }: LocalNetworks): readonly NetworkConfig[] {
  return [...evm, ...[tron, sui].filter((network) => network !== undefined), ...given];
}

const SCANNERS = { EVM: 'scanner-evm', TRON: 'scanner-tron', SUI: 'scanner-sui' } as const;

export function servicesFor(
  networks: LocalNetworks,
  services: readonly ServiceName[] = SERVICE_NAMES,
): readonly ServiceName[] {
  const families = new Set(allNetworks(networks).map(({ family }) => family));
  const idle = FAMILIES.filter((family) => !families.has(family)).map((family) => SCANNERS[family]);
  return services.filter((service) => !idle.some((scanner) => scanner === service));
}

/** EVM devnets also run without a service, because tests scan them. */
function isScanned({ family }: NetworkConfig, options: ReadOptions): boolean {
  return family === 'EVM' || runs(SCANNERS[family], options);
}

function requireTestNetworks(file: string | undefined, networks: readonly NetworkConfig[]): void {
  const main = networks.find((network) => !isTestNetwork(network));
  if (networks.length > 0 && main === undefined) return;
  throw new GatewayError<ReadNetworksErrorCode>(
    'NO_LOCAL_NETWORK',
    main === undefined
      ? `${file ?? LOCAL_NETWORKS_FILE} enables no network. Enable a test network in it.`
      : `${file} enables ${main.chain}, a main network. npm start is for test networks; deploy/guides/going-to-mainnet.md leads to real money.`,
    { retryable: false },
  );
}

/** Removes local.json's WebSocket URL, which belongs to the devnet. */
function withoutForeignSocket(network: NetworkConfig, options: ReadOptions): NetworkConfig {
  const { wsUrl, ...others } = payable(network, options);
  const { networksFile, environment = {} } = options.ownNodes ?? {};
  const isOwn = networksFile !== undefined || wsUrl === environment[`${network.chain}_WS_URL`]?.trim();
  return wsUrl === undefined || !isOwn ? others : { ...others, wsUrl };
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

function evmOnPorts(network: EvmDevnetNetwork, options: ReadOptions): EvmDevnetNetwork {
  const port = options.ports.chains[network.chain];
  return {
    ...paced(payable(network, options), options),
    ...options.networkChanges,
    rpcUrls: [`http://127.0.0.1:${port}`],
    wsUrl: `ws://127.0.0.1:${port}`,
  };
}

function tronOnPorts(network: TronDevnetNetwork, options: ReadOptions): TronDevnetNetwork {
  const rpcUrls = [`http://127.0.0.1:${options.ports.chains.TRON_TEST}`];
  return { ...paced(payable(network, options), options), rpcUrls };
}

/** SUI makes four checkpoints a second, independent of the block time. */
function suiOnPorts(network: SuiDevnetNetwork, options: ReadOptions): SuiDevnetNetwork {
  const rpcUrls = [`http://127.0.0.1:${options.ports.chains.SUI_TEST}`];
  return { ...payable(network, options), rpcUrls };
}

function payable<Network extends NetworkConfig>(network: Network, options: ReadOptions): Network {
  const { payouts: _, ...unpayable } = network;
  return runs('payout-signer', options) ? network : (unpayable as Network);
}

function paced<Network extends NetworkConfig>(network: Network, { blockTimeSeconds }: ReadOptions): Network {
  return blockTimeSeconds === undefined ? network : { ...network, blockTimeMs: blockTimeSeconds * 1_000 };
}

/** An empty selection runs all. */
function runs(
  service: NonNullable<ReadOptions['services']>[number],
  { services = [] }: ReadOptions,
): boolean {
  return services.length === 0 || services.includes(service);
}
