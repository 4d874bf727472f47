import type { NetworkConfig } from '@opentill/contracts/network-config';
import { rpcEndpointsOf } from '@opentill/contracts/network-config';
import type { SourceChange } from '@opentill/chain-sources/rank-sources';
import type { AskOptions, Source } from '@opentill/chain-sources/source';
import type { SourceNotes } from '@opentill/chain-sources/source-entry';
import type { Sources } from '@opentill/chain-sources/sources';
import { createSources } from '@opentill/chain-sources/sources';
import type { TronHeader } from './decode-block.ts';
import { decodeHeader } from './decode-block.ts';
import { failedQuickly } from './retry-read.ts';
import { createSemaphore } from '@opentill/chain-sources/semaphore';
import type { Side, TronClient, TronExchange } from './tron-client.ts';
import { createTronClient } from './tron-client.ts';

export interface TronSource extends Source, Pick<TronClient, 'call' | 'beginMany'> {}

export type TronSources = Sources<TronSource>;

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
  readonly onSourceChange?: (change: SourceChange) => void;
  /** Monotonic. @default performance.now */
  readonly nowMs?: () => number;
  /** @default Date.now */
  readonly epochMs?: () => number;
}

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
  const slots = createSemaphore(WHOLE_AT_ONCE);
  const sizes = createSizes();
  return {
    label: client.label,
    waitMs: client.waitMs,
    beginMany: client.beginMany,
    async call(call, options) {
      const isWhole = WHOLE.has(call.method);
      const leave = isWhole
        ? await slots.take(options?.signal, Math.ceil(sizes.bytesOf(call.method) / BYTES_PER_SLOT))
        : undefined;
      const onBytes = (bytes: number): void => sizes.note(call.method, bytes);
      const send = (): Promise<unknown> =>
        client.call(isWhole ? { ...call, isQueued: true, onBytes } : call, options);
      try {
        const value = await retryOnce(send, options);
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
 * Whole blocks: 0.6 MB each on the main network, several times that when parsed. More than eight in flight make
 * catching up no faster (measured) and would not fit into a small container.
 */
const WHOLE: ReadonlySet<string> = new Set(['getblockbynum', 'gettransactioninfobyblocknum']);
const WHOLE_AT_ONCE = 16;
/** Larger answers, up to the 10 MB of JSON that the chain permits, take several slots. */
const BYTES_PER_SLOT = 1024 * 1024;
const BYTES_AT_FIRST = 4 * BYTES_PER_SLOT;
/** Decay per answer: the influence of a large one halves after about ten. */
const SHRINKING = 0.93;

function createSizes(): { bytesOf(method: string): number; note(method: string, bytes: number): void } {
  const known = new Map<string, number>();
  const bytesOf = (method: string): number => known.get(method) ?? BYTES_AT_FIRST;
  return {
    bytesOf,
    note: (method, bytes) => void known.set(method, Math.max(bytes, (known.get(method) ?? 0) * SHRINKING)),
  };
}

/** Each block takes two calls, so one of many often fails, which must not exclude the source for a while. */
async function retryOnce<T>(work: () => Promise<T>, options: AskOptions | undefined): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!failedQuickly(error) || options?.signal?.aborted === true) throw error;
    return work();
  }
}
