import { isReaderError } from '@opentill/chain/reader-error';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { rpcEndpointsOf } from '@opentill/contracts/network-config';
import type { SourceChange } from '@opentill/chain-sources/rank-sources';
import type { Source } from '@opentill/chain-sources/source';
import type { SourceNotes } from '@opentill/chain-sources/source-entry';
import type { Sources } from '@opentill/chain-sources/sources';
import { createSources } from '@opentill/chain-sources/sources';
import type { TronHeader } from './decode-block.ts';
import { decodeHeader } from './decode-block.ts';
import { createPlaces } from './take-places.ts';
import type { Side, TronClient, TronExchange } from './tron-client.ts';
import { createTronClient } from './tron-client.ts';
import type { AskOptions } from '@opentill/chain-sources/source';

/** One node or provider of the network. A call goes to it alone and is not repeated elsewhere. */
export interface TronSource extends Source, Pick<TronClient, 'call'> {}

/** Several of them behind one call. `run` hands `options` on to `source.call`. */
export type TronSources = Sources<TronSource>;

/** What is needed of a network's configuration to ask its nodes. `genesisId` must be there. */
export type TronSourcesNetwork = Pick<
  NetworkConfig,
  | 'chain'
  | 'genesisId'
  | 'rpcUrls'
  | 'solidityUrls'
  | 'blockTimeMs'
  | 'headStaleSeconds'
  | 'aloneAfterSeconds'
>;

export interface TronSourcesDeps {
  /** @default 5000 */
  readonly requestTimeoutMs?: number;
  readonly onExchange?: (exchange: TronExchange) => void;
  /** A source became usable or stopped being it: an alarm. */
  readonly onSourceChange?: (change: SourceChange) => void;
  /** Monotonic milliseconds. @default performance.now */
  readonly nowMs?: () => number;
  /** @default Date.now */
  readonly epochMs?: () => number;
}

/** The sources of a configured network. Opens nothing until the first call. Throws TypeError without a genesis id. */
export function createTronSources(network: TronSourcesNetwork, deps: TronSourcesDeps): TronSources {
  const { chain, genesisId, solidityUrls } = network;
  if (genesisId === undefined) throw new TypeError(`the network ${chain} has no genesis id`);
  return createSources({
    ...network,
    ...deps,
    readHead: readHeader,
    createSources: rpcEndpointsOf(network).map(
      ({ url, requestsPerSecond }, place) =>
        (notes) =>
          createTronSource(notes, (onExchange) =>
            createTronClient({
              url,
              solidityUrl: solidityUrls?.[place],
              genesisId,
              requestsPerSecond,
              requestTimeoutMs: deps.requestTimeoutMs,
              onExchange: (exchange) => {
                onExchange(exchange);
                deps.onExchange?.(exchange);
              },
            }),
          ),
    ),
  });
}

/** The newest header that a source has, or that of a height or an id: by the cheapest question there is. */
export async function readHeader(
  source: Pick<TronSource, 'call'>,
  options: AskOptions,
  wanted?: number | string,
  side: Side = 'wallet',
): Promise<TronHeader> {
  const body = { detail: false, ...(wanted === undefined ? {} : { id_or_num: `${wanted}` }) };
  const raw = await source.call({ side, method: 'getblock', body }, options);
  return decodeHeader(raw, typeof wanted === 'number' ? wanted : undefined);
}

function createTronSource(
  notes: SourceNotes,
  createClient: (onExchange: (exchange: TronExchange) => void) => TronClient,
): TronSource {
  const client = createClient(({ outcome, durationMs, answerBytes }) => {
    if (outcome === 'OK') notes.noteLatency(durationMs, answerBytes);
  });
  const places = createPlaces(WHOLE_AT_ONCE);
  return {
    label: client.label,
    waitMs: client.waitMs,
    async call(call, options) {
      const leave = WHOLE.has(call.method) ? await places.take(options?.signal) : undefined;
      try {
        const value = await insist(() => client.call(call, options), options);
        notes.noteAnswer();
        return value;
      } catch (error) {
        notes.noteFailure(error);
        throw error;
      } finally {
        leave?.();
      }
    },
  };
}

/**
 * Answers about whole blocks: 0.6 MB a block of the main network, and several times that when they are parsed. Catching up reads
 * many parts at once; of more than eight blocks in flight it gains nothing (tron.md section 3.3), and they would not fit into
 * a small container.
 */
const WHOLE: ReadonlySet<string> = new Set(['getblockbynum', 'gettransactioninfobyblocknum']);
const WHOLE_AT_ONCE = 16;

/** A fault as slow as this is no passing one. */
const PATIENCE_MS = 1_000;

/**
 * Makes a call once more whose connection broke or whose answer was none. Each block takes two calls, so that one of many
 * fails often: that must not have the source rest as if it were away.
 */
async function insist<T>(work: () => Promise<T>, options: AskOptions | undefined): Promise<T> {
  const startedAt = performance.now();
  try {
    return await work();
  } catch (error) {
    const isPassing = isReaderError(error, 'RPC_UNAVAILABLE') && performance.now() - startedAt < PATIENCE_MS;
    if (!isPassing || options?.signal?.aborted === true) throw error;
    return work();
  }
}
