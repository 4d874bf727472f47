import type { NetworkConfig } from '@opentill/contracts/network-config';
import { rpcEndpointsOf } from '@opentill/contracts/network-config';
import type { SourceChange } from '@opentill/chain-sources/rank-sources';
import type { AskOptions, Source } from '@opentill/chain-sources/source';
import type { SourceNotes } from '@opentill/chain-sources/source-entry';
import type { Sources } from '@opentill/chain-sources/sources';
import { createSources } from '@opentill/chain-sources/sources';
import type { TronHeader } from './decode-block.ts';
import { decodeHeader } from './decode-block.ts';
import { isBrokenQuickly } from './ask-patiently.ts';
import { createPlaces } from '@opentill/chain-sources/take-places';
import type { Side, TronClient, TronExchange } from './tron-client.ts';
import { createTronClient } from './tron-client.ts';

/** One node or provider of the network. A call goes to it alone and is not repeated elsewhere. */
export interface TronSource extends Source, Pick<TronClient, 'call' | 'beginMany'> {}

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
  const sizes = createSizes();
  return {
    label: client.label,
    waitMs: client.waitMs,
    beginMany: client.beginMany,
    async call(call, options) {
      const isWhole = WHOLE.has(call.method);
      const leave = isWhole
        ? await places.take(options?.signal, Math.ceil(sizes.bytesOf(call.method) / BYTES_PER_PLACE))
        : undefined;
      const onBytes = (bytes: number): void => sizes.note(call.method, bytes);
      const send = (): Promise<unknown> =>
        client.call(isWhole ? { ...call, inLine: true, onBytes } : call, options);
      try {
        const value = await insist(send, options);
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
/** Fuller blocks, up to the 10 MB of JSON that the chain allows, come fewer at once. */
const BYTES_PER_PLACE = 1024 * 1024;
/** Before one has come. */
const BYTES_AT_FIRST = 4 * BYTES_PER_PLACE;
/** How fast a large answer is forgotten: half of it after some ten others. */
const SHRINKING = 0.93;

/** How large answers are of late: as the largest, which counts less and less. */
function createSizes(): { bytesOf(method: string): number; note(method: string, bytes: number): void } {
  const known = new Map<string, number>();
  const bytesOf = (method: string): number => known.get(method) ?? BYTES_AT_FIRST;
  return {
    bytesOf,
    note: (method, bytes) => void known.set(method, Math.max(bytes, (known.get(method) ?? 0) * SHRINKING)),
  };
}

/**
 * Makes a call once more whose connection broke or whose answer was none. Each block takes two calls, so that one of many
 * fails often: that must not have the source rest as if it were away.
 */
async function insist<T>(work: () => Promise<T>, options: AskOptions | undefined): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isBrokenQuickly(error) || options?.signal?.aborted === true) throw error;
    return work();
  }
}
