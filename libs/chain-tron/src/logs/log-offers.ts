import { isReaderError } from '@opentill/chain/reader-error';
import type { TronSource } from '../tron-sources.ts';

/** Nodes answer `/jsonrpc` only where their operator turned it on. A provider may lack it, or a method of it. */
export interface LogOffers {
  isOffered(source: TronSource): boolean;
  /** Notes an answer by which the source lacks the interface. */
  ask<T>(source: TronSource, work: () => Promise<T>): Promise<T>;
}

const ASKED_AGAIN_MS = 10 * 60 * 1_000;

export function createLogOffers(nowMs: () => number): LogOffers {
  const missingUntilMs = new Map<TronSource, number>();
  return {
    isOffered: (source) => nowMs() >= (missingUntilMs.get(source) ?? -Infinity),
    async ask(source, work) {
      try {
        return await work();
      } catch (error) {
        if (isMissing(error)) missingUntilMs.set(source, nowMs() + ASKED_AGAIN_MS);
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
