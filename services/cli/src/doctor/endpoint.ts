import { blockRequest } from '@opentill/chain-evm/block-requests';
import { createEvmClient, type EvmClient, type RpcExchange } from '@opentill/chain-evm/client';
import { decodeHeader, type EvmHeader } from '@opentill/chain-evm/decode';
import type { FinalityTag, RpcEndpoint } from '@opentill/contracts/network-config';

const REQUEST_TIMEOUT_MS = 10_000;

export interface Endpoint {
  /** Host and port, never the path: paths contain provider keys. */
  readonly label: string;
  readonly config: RpcEndpoint;
  readonly client: EvmClient;
  readonly exchanges: readonly RpcExchange[];
}

export interface ReachedEndpoint extends Endpoint {
  readonly head: EvmHeader;
}

/** Endpoints at one host get a number in their label. */
export function openEndpoints(configs: readonly RpcEndpoint[], chainId: number): readonly Endpoint[] {
  const hosts = configs.map(({ url }) => new URL(url).host);
  return configs.map((config, place) => {
    const host = hosts[place] ?? '';
    const before = hosts.slice(0, place).filter((other) => other === host).length;
    const exchanges: RpcExchange[] = [];
    const { url, requestsPerSecond } = config;
    return {
      label: before === 0 ? host : `${host} (${before + 1})`,
      config,
      exchanges,
      client: createEvmClient({
        url,
        chainId,
        requestTimeoutMs: REQUEST_TIMEOUT_MS,
        ...(requestsPerSecond === undefined ? {} : { requestsPerSecond }),
        onExchange: (exchange) => exchanges.push(exchange),
      }),
    };
  });
}

export async function readHeader(
  client: EvmClient,
  block: number | 'latest' | FinalityTag,
): Promise<EvmHeader> {
  const [answer] = await client.batch([blockRequest(block)]);
  return decodeHeader(answer);
}
