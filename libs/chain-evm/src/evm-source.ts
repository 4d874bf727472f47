import type { CallSize } from '@opentill/chain-sources/call-size';
import { createCallSize } from '@opentill/chain-sources/call-size';
import type { Source } from '@opentill/chain-sources/source';
import type { SourceNotes } from '@opentill/chain-sources/source-entry';
import { createBlocksPerCall, type BlocksPerCall } from './blocks-per-call.ts';
import { watchAnswer } from './raw-answer.ts';
import type { EvmClient, RpcExchange } from './rpc-call.ts';

/** `batch` and `ask` use only this URL, without fail-over. */
export interface EvmSource extends EvmClient, Source {
  readonly blockRange: CallSize;
  /** By its own answers: a source that invents logs slows only itself. */
  readonly blocksPerCall: BlocksPerCall;
}

export interface EvmSourceDeps {
  readonly label: string;
  readonly maxBlockRange: number;
  readonly nowMs: () => number;
  readonly createClient: (onExchange: (exchange: RpcExchange) => void) => EvmClient;
  readonly onExchange: ((exchange: RpcExchange) => void) | undefined;
}

export function createEvmSource(deps: EvmSourceDeps, notes: SourceNotes): EvmSource {
  const client = deps.createClient((exchange) => {
    if (exchange.outcome === 'OK') notes.noteLatency(exchange.durationMs, exchange.answerBytes);
    deps.onExchange?.(exchange);
  });

  const ask: EvmClient['ask'] = async (requests, options) => {
    try {
      const answer = await client.ask(requests, options);
      notes.noteAnswer();
      return watchAnswer(answer, notes.noteFailure);
    } catch (error) {
      notes.noteFailure(error);
      throw error;
    }
  };

  return {
    label: deps.label,
    blockRange: createCallSize({ max: deps.maxBlockRange, nowMs: deps.nowMs }),
    blocksPerCall: createBlocksPerCall(),
    waitMs: client.waitMs,
    ask,
    batch: async (requests, options) => (await ask(requests, options)).results(),
  };
}
