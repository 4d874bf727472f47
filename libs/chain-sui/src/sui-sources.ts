import type { NetworkConfig } from '@opentill/contracts/network-config';
import { rpcEndpointsOf } from '@opentill/contracts/network-config';
import { readerError } from '@opentill/chain/reader-error';
import type { SourceChange } from '@opentill/chain-sources/rank-sources';
import type { AskOptions, Source } from '@opentill/chain-sources/source';
import type { SourceNotes } from '@opentill/chain-sources/source-entry';
import type { Sources } from '@opentill/chain-sources/sources';
import { createSources } from '@opentill/chain-sources/sources';
import type { ShownHead } from '@opentill/chain-sources/watch-heads';
import { createSemaphore } from '@opentill/chain-sources/semaphore';
import type { SuiClient, SuiExchange } from './sui-client.ts';
import { createSuiClient } from './sui-client.ts';

export interface SuiSource extends Source, Pick<SuiClient, 'ask' | 'follow'> {
  /** For many checkpoints at once. The number of such calls in flight is limited. */
  readonly askMuch: SuiClient['ask'];
}

export type SuiSources = Sources<SuiSource>;

export type SuiSourcesNetwork = Pick<
  NetworkConfig,
  'chain' | 'genesisId' | 'rpcUrls' | 'blockTimeMs' | 'headStaleSeconds' | 'aloneAfterSeconds'
>;

export interface SuiSourcesDeps {
  /** @default 5000 */
  readonly requestTimeoutMs?: number;
  readonly onExchange?: (exchange: SuiExchange) => void;
  readonly onSourceChange?: (change: SourceChange) => void;
  /** Monotonic. @default performance.now */
  readonly nowMs?: () => number;
  /** @default Date.now */
  readonly epochMs?: () => number;
  /** Delivered recently by the source's subscription, so that no request is needed. */
  readonly shownHead?: (source: SuiSource) => ShownHead | undefined;
}

/** Each answer has up to 100 checkpoints. More in flight are not faster and take memory. */
const MUCH_AT_ONCE = 4;

export function createSuiSources(network: SuiSourcesNetwork, deps: SuiSourcesDeps): SuiSources {
  const { chain, genesisId } = network;
  if (genesisId === undefined) throw new TypeError(`the network ${chain} has no genesis id`);
  return createSources({
    ...network,
    ...deps,
    readHead: async (source: SuiSource, options) =>
      deps.shownHead?.(source) ?? readServiceHead(source, options),
    createSources: rpcEndpointsOf(network).map(
      ({ url, requestsPerSecond }) =>
        (notes) =>
          createSuiSource(notes, (onExchange) =>
            createSuiClient({
              url,
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

export async function readServiceHead(source: SuiSource, options: AskOptions): Promise<ShownHead> {
  const { response } = await source.ask(({ ledger }, call) => ledger.getServiceInfo({}, call), options);
  const { checkpointHeight, timestamp } = response;
  if (checkpointHeight === undefined || timestamp === undefined)
    throw readerError('INCONSISTENT_ANSWER', 'the node does not report its newest checkpoint', {
      endpoint: source.label,
    });
  return { height: Number(checkpointHeight), timeSeconds: Number(timestamp.seconds) };
}

function createSuiSource(
  notes: SourceNotes,
  createClient: (onExchange: (exchange: SuiExchange) => void) => SuiClient,
): SuiSource {
  const client = createClient(({ outcome, durationMs, answerBytes }) => {
    if (outcome === 'OK') notes.noteLatency(durationMs, answerBytes);
  });
  const places = createSemaphore(MUCH_AT_ONCE);
  const ask: SuiClient['ask'] = async (question, options) => {
    try {
      const value = await client.ask(question, options);
      notes.noteAnswer();
      return value;
    } catch (error) {
      notes.noteFailure(error);
      throw error;
    }
  };
  return {
    label: client.label,
    waitMs: client.waitMs,
    ask,
    async askMuch(question, options) {
      const leave = await places.take(options?.signal);
      try {
        return await ask(question, options);
      } finally {
        leave();
      }
    },
    async follow(following) {
      try {
        return await client.follow({
          ...following,
          open: (services, call, alive) =>
            following.open(services, call, () => {
              alive();
              notes.noteAnswer();
            }),
        });
      } catch (error) {
        if (!following.signal.aborted) notes.noteFailure(error);
        throw error;
      }
    },
  };
}
