import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { SourceHealth } from '@opentill/chain/source-health';
import type { RpcEndpoint } from '@opentill/contracts/network-config';
import type { CallSize } from './call-size.ts';
import { createCallSize } from './call-size.ts';
import type { EvmClient, RpcExchange } from './client.ts';
import { createEvmClient } from './client.ts';
import { mayBeBetterElsewhere } from './translate-rpc-error.ts';

/** One URL of the network. `batch` goes to this URL alone and is not repeated elsewhere. */
export interface EvmSource extends EvmClient {
  /** Host and port, never the path: keys of providers stand there. */
  readonly label: string;
  /** The most blocks to ask of this URL in one eth_getLogs. */
  readonly blockRange: CallSize;
}

/** Several URLs of one network behind one call. */
export interface EvmSources {
  /**
   * Runs `work` against the best usable source; after a fault that another may not have (mayBeBetterElsewhere) against
   * the next, each at most once, then throws the error that tells most. `work` hands `options` on to `source.batch`.
   * With `hedge` a second source starts when the first has not answered in its usual time; the first success wins and
   * the other is aborted: only for work without side effects.
   */
  run<T>(
    work: (source: EvmSource, options: ReadOptions) => Promise<T>,
    options?: ReadOptions & { readonly hedge?: boolean },
  ): Promise<T>;
  /**
   * Usable now, best first: not known for another chain, not resting, neither stuck nor behind the others. Never
   * empty: when none is well, all of them, the least bad first.
   */
  usable(): readonly EvmSource[];
  /** Tells what head a source showed; one that stays behind is not usable until it has caught up. */
  noteHead(source: EvmSource, header: { readonly height: number; readonly timeSeconds: number }): void;
  /** Every source in the order of the configuration. */
  health(): readonly SourceHealth[];
}

export interface EvmSourcesConfig {
  /** In the order of preference; at least one. */
  readonly endpoints: readonly RpcEndpoint[];
  /** EIP-155 id that every URL must name before its answers count. */
  readonly chainId: number;
  /** Most blocks in one eth_getLogs, whatever an endpoint allows. */
  readonly maxBlockRange: number;
  /** Usual time between blocks. */
  readonly blockTimeMs: number;
  /** From sending a request to the last byte of its answer. @default 5000 */
  readonly requestTimeoutMs?: number;
  readonly onExchange?: (exchange: RpcExchange) => void;
}

/** Opens nothing until the first call. Throws TypeError without an endpoint. */
export function createEvmSources(config: EvmSourcesConfig): EvmSources {
  if (config.endpoints.length === 0) throw new TypeError('a network needs at least one URL');
  const { requestTimeoutMs, onExchange } = config;
  const sources: readonly EvmSource[] = config.endpoints.map((endpoint) => ({
    label: new URL(endpoint.url).host,
    blockRange: createCallSize({
      max: Math.min(config.maxBlockRange, endpoint.maxBlockRange ?? Infinity),
    }),
    ...createEvmClient({
      url: endpoint.url,
      chainId: config.chainId,
      ...(requestTimeoutMs === undefined ? {} : { requestTimeoutMs }),
      ...(onExchange === undefined ? {} : { onExchange }),
    }),
  }));
  return {
    async run(work, options = {}) {
      let failure: unknown;
      for (const source of sources) {
        try {
          return await work(source, options.signal === undefined ? {} : { signal: options.signal });
        } catch (error) {
          failure = error;
          if (!mayBeBetterElsewhere(error)) break;
        }
      }
      throw failure;
    },
    usable: () => sources,
    noteHead() {},
    health: () =>
      sources.map(({ label }) => ({
        label,
        usable: true,
        trouble: null,
        score: 1,
        headLagBlocks: null,
        lastErrorCode: null,
      })),
  };
}
