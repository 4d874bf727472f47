import type { RpcEndpoint } from '@opentill/contracts/network-config';
import type { SourceChange } from '@opentill/chain-sources/rank-sources';
import type { Sources, SourcesConfig } from '@opentill/chain-sources/sources';
import { createSources } from '@opentill/chain-sources/sources';
import { blockRequest } from './block-requests.ts';
import { createEvmClient } from './client.ts';
import { decodeHeader } from './decode.ts';
import type { EvmSource } from './evm-source.ts';
import { createEvmSource } from './evm-source.ts';
import type { EvmClient, RpcExchange } from './rpc-call.ts';

export type { EvmSource, SourceChange };

export type EvmSources = Sources<EvmSource>;

export interface EvmSourcesConfig extends Omit<SourcesConfig<EvmSource>, 'createSources' | 'readHead'> {
  /** In the order of preference; at least one. */
  readonly endpoints: readonly RpcEndpoint[];
  /** Every URL must report this EIP-155 id before its answers count. */
  readonly chainId: number;
  /** Blocks per eth_getLogs, even if an endpoint permits more. */
  readonly maxBlockRange: number;
  readonly answerBytesMax?: number;
  readonly onExchange?: (exchange: RpcExchange) => void;
  readonly createClient?: (endpoint: RpcEndpoint, onExchange: (exchange: RpcExchange) => void) => EvmClient;
}

export function createEvmSources(config: EvmSourcesConfig): EvmSources {
  const { chainId, requestTimeoutMs, answerBytesMax } = config;
  const nowMs = config.nowMs ?? (() => performance.now());
  const createClient =
    config.createClient ??
    (({ url, requestsPerSecond }, onExchange) =>
      createEvmClient({
        url,
        chainId,
        onExchange,
        ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
        ...(answerBytesMax === undefined ? {} : { answerBytesMax }),
        ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }),
      }));
  return createSources({
    ...config,
    nowMs,
    readHead: async (source, options) => {
      const [raw] = await source.batch([blockRequest('latest')], options);
      return decodeHeader(raw);
    },
    createSources: config.endpoints.map(
      (endpoint) => (notes) =>
        createEvmSource(
          {
            label: new URL(endpoint.url).host,
            maxBlockRange: Math.min(config.maxBlockRange, endpoint.maxBlockRange ?? Infinity),
            nowMs,
            createClient: (onExchange) => createClient(endpoint, onExchange),
            onExchange: config.onExchange,
          },
          notes,
        ),
    ),
  });
}
