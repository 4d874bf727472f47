import type { NetworkConfig } from '@opentill/contracts/network-config';
import { rpcEndpointsOf } from '@opentill/contracts/network-config';
import type { EvmSources, EvmSourcesConfig } from './sources.ts';
import { createEvmSources } from './sources.ts';

export type SourcesNetwork = Pick<
  NetworkConfig,
  'chain' | 'chainId' | 'rpcUrls' | 'maxBlockRange' | 'blockTimeMs' | 'headStaleSeconds' | 'aloneAfterSeconds'
>;

export type SourcesDeps = Pick<
  EvmSourcesConfig,
  'requestTimeoutMs' | 'onExchange' | 'onSourceChange' | 'nowMs' | 'epochMs'
>;

export function sourcesOfNetwork(network: SourcesNetwork, deps: SourcesDeps): EvmSources {
  const { chain, chainId, headStaleSeconds, aloneAfterSeconds } = network;
  const { nowMs, epochMs, requestTimeoutMs, onExchange, onSourceChange } = deps;
  if (chainId === undefined) throw new TypeError(`the network ${chain} has no chain id`);
  return createEvmSources({
    endpoints: rpcEndpointsOf(network),
    chainId,
    maxBlockRange: network.maxBlockRange,
    blockTimeMs: network.blockTimeMs,
    ...(headStaleSeconds === undefined ? {} : { headStaleSeconds }),
    ...(aloneAfterSeconds === undefined ? {} : { aloneAfterSeconds }),
    ...(nowMs === undefined ? {} : { nowMs }),
    ...(epochMs === undefined ? {} : { epochMs }),
    ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
    ...(onExchange === undefined ? {} : { onExchange }),
    ...(onSourceChange === undefined ? {} : { onSourceChange }),
  });
}
