import type { CallSize } from './call-size.ts';
import { createCallSize } from './call-size.ts';
import type { EvmClient, RpcExchange } from './rpc-call.ts';
import type { SourceRecord } from './source-record.ts';

/** One URL of the network. `batch` and `ask` go to this URL alone and are not repeated elsewhere. */
export interface EvmSource extends EvmClient {
  /** Host and port, never the path: keys of providers stand there. Not unique: two accounts at one provider. */
  readonly label: string;
  /** The most blocks to ask of this URL in one eth_getLogs. */
  readonly blockRange: CallSize;
}

/** A source with what is known of it. */
export interface SourceEntry {
  readonly source: EvmSource;
  /** In the configuration: less is preferred. */
  readonly place: number;
  readonly record: SourceRecord;
  /** Since when it is left out for good, by `nowMs`. */
  excludedSinceMs: number | undefined;
  /** Since when it lacks blocks below its head that were asked for, by `nowMs`; of late it had all that were. */
  lackingSinceMs: number | undefined;
  /** Remembers a failure, once however often it is told. */
  noteFailure(error: unknown): void;
}

export interface SourceEntryDeps {
  readonly place: number;
  readonly label: string;
  readonly maxBlockRange: number;
  readonly record: SourceRecord;
  readonly nowMs: () => number;
  readonly createClient: (onExchange: (exchange: RpcExchange) => void) => EvmClient;
  readonly onExchange: ((exchange: RpcExchange) => void) | undefined;
}

/** Longer answers take as long as they are long, which says nothing of the source. */
const ORDINARY_ANSWER_BYTES = 64 * 1024;

/** Makes a source whose every answer and failure goes into its record, whoever asked. */
export function createSourceEntry(deps: SourceEntryDeps): SourceEntry {
  const { record, nowMs } = deps;
  const client = deps.createClient((exchange) => {
    if (exchange.outcome === 'OK' && exchange.answerBytes <= ORDINARY_ANSWER_BYTES)
      record.noteLatency(exchange.durationMs);
    deps.onExchange?.(exchange);
  });
  const noted = new WeakSet<object>();
  function noteFailure(error: unknown): void {
    if (typeof error !== 'object' || error === null || noted.has(error)) return;
    noted.add(error);
    record.noteFailure(error);
  }

  const ask: EvmClient['ask'] = async (requests, options) => {
    try {
      const answer = await client.ask(requests, options);
      record.noteAnswer();
      const results = (): readonly unknown[] => {
        try {
          return answer.results();
        } catch (error) {
          noteFailure(error);
          throw error;
        }
      };
      return { body: answer.body, results };
    } catch (error) {
      noteFailure(error);
      throw error;
    }
  };

  return {
    place: deps.place,
    record,
    excludedSinceMs: undefined,
    lackingSinceMs: undefined,
    noteFailure,
    source: {
      label: deps.label,
      blockRange: createCallSize({ max: deps.maxBlockRange, nowMs }),
      waitMs: client.waitMs,
      ask,
      batch: async (requests, options) => (await ask(requests, options)).results(),
    },
  };
}
