import { isReaderError } from '@opentill/chain/reader-error';
import type { TronSource } from '../tron-sources.ts';
import { createPause, type Pause } from './pause.ts';

/** Nodes answer `/jsonrpc` only where their operator turned it on. A provider may lack it, or a method of it. */
export interface LogOffers {
  /** False for some time after failures. */
  isOffered(source: TronSource): boolean;
  /** Notes failures, and answers by which the source lacks the interface. */
  ask<T>(source: TronSource, work: () => Promise<T>): Promise<T>;
}

const ASKED_AGAIN_MS = 10 * 60 * 1_000;

export function createLogOffers(nowMs: () => number): LogOffers {
  const pauses = new Map<TronSource, Pause>();
  const pauseOf = (source: TronSource): Pause => {
    const pause = pauses.get(source) ?? createPause(nowMs);
    pauses.set(source, pause);
    return pause;
  };
  return {
    isOffered: (source) => !pauseOf(source).isOn(),
    async ask(source, work) {
      const pause = pauseOf(source);
      try {
        const answer = await work();
        pause.succeeded();
        return answer;
      } catch (error) {
        if (isMissing(error)) pause.begin(ASKED_AGAIN_MS);
        // A node that is behind by a block is no failure.
        else if (!isReaderError(error, 'BLOCK_NOT_FOUND') && !isReaderError(error, 'READ_ABORTED'))
          pause.failed();
        throw error;
      }
    },
  };
}

export function isMissing(error: unknown): boolean {
  return (
    isReaderError(error, 'RPC_METHOD_MISSING') ||
    isReaderError(error, 'RPC_REFUSED') ||
    isReaderError(error, 'RPC_FORBIDDEN')
  );
}
