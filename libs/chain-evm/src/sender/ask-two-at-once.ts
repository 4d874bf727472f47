import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { SourceAnswer } from '@opentill/chain-sources/ask-two-sources';
import { pairOf } from '@opentill/chain-sources/ask-two-sources';
import type { EvmSource, EvmSources } from '../sources.ts';
import { isFailoverError } from '@opentill/chain-sources/is-failover-error';

/** Wait for the second answer after a sufficient first one. */
const GRACE_MS = 500;
const WANTED = 2;

export interface QuestionToTwo<T> {
  readonly ask: (source: EvmSource, options: ReadOptions) => Promise<T>;
  readonly suffices: (answer: T) => boolean;
}

type Settled<T> = SourceAnswer<EvmSource, T> | { readonly source: EvmSource; readonly failure: unknown };

/**
 * Replaces sources that fail. A slow second answer is awaited only for GRACE_MS, unless the first does not suffice.
 * Throws the last failure when none answers.
 */
export async function askTwoAtOnce<T>(
  sources: EvmSources,
  { ask, suffices }: QuestionToTwo<T>,
  options: ReadOptions,
): Promise<readonly SourceAnswer<EvmSource, T>[]> {
  const controller = new AbortController();
  const { signal: callerSignal } = options;
  const signal =
    callerSignal === undefined ? controller.signal : AbortSignal.any([callerSignal, controller.signal]);
  const left = inOrder(sources);
  const underWay = new Map<EvmSource, Promise<Settled<T>>>();
  const received: SourceAnswer<EvmSource, T>[] = [];
  const asked: EvmSource[] = [];
  const grace = createGracePeriod();
  let failure: unknown;
  const start = (): void => {
    while (underWay.size + received.length < WANTED) {
      const source = left.shift();
      if (source === undefined) return;
      asked.push(source);
      underWay.set(source, settle(source, ask(source, { ...options, signal })));
    }
  };
  try {
    for (start(); underWay.size > 0; start()) {
      const next = await Promise.race([...underWay.values(), ...grace.isOver()]);
      if (next === undefined) break;
      underWay.delete(next.source);
      if ('failure' in next) {
        failure = next.failure;
        if (callerSignal?.aborted === true) throw failure;
        sources.noteFault(next.source, failure);
        if (!isFailoverError(failure)) left.length = 0;
      } else {
        received.push(next);
        if (suffices(next.answer)) grace.begin();
      }
    }
  } finally {
    grace.end();
    controller.abort();
  }
  if (received.length === 0) throw failure;
  return received.toSorted((a, b) => asked.indexOf(a.source) - asked.indexOf(b.source));
}

/** The best two on different hosts, then the other usable sources, then those that lag. */
function inOrder(sources: EvmSources): EvmSource[] {
  const usable = sources.usable();
  return [...new Set([...pairOf(usable), ...usable, ...sources.quorumSources()])];
}

function settle<T>(source: EvmSource, answer: Promise<T>): Promise<Settled<T>> {
  return answer.then(
    (value) => ({ source, answer: value }),
    (failure: unknown) => ({ source, failure }),
  );
}

interface GracePeriod {
  begin(): void;
  isOver(): readonly Promise<undefined>[];
  end(): void;
}

function createGracePeriod(): GracePeriod {
  let over: Promise<undefined> | undefined;
  let timer: NodeJS.Timeout | undefined;
  return {
    begin() {
      over ??= new Promise((resolve) => {
        timer = setTimeout(() => resolve(undefined), GRACE_MS);
      });
    },
    isOver: () => (over === undefined ? [] : [over]),
    end: () => clearTimeout(timer),
  };
}
