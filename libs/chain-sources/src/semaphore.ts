import { readerError } from '@opentill/chain/reader-error';

/** A fair semaphore: callers are admitted in order of arrival. */
export interface Semaphore {
  /** Returns the function that releases the places. READ_ABORTED when the signal aborts first. */
  take(signal: AbortSignal | undefined, places?: number): Promise<() => void>;
}

interface Waiting {
  readonly places: number;
  readonly enter: () => void;
}

export function createSemaphore(count: number): Semaphore {
  let free = count;
  const waiting = new Set<Waiting>();

  /** In order: a caller that needs many places is not overtaken by one that needs few. */
  function admitNext(): void {
    for (const next of waiting) {
      if (next.places > free) return;
      free -= next.places;
      waiting.delete(next);
      next.enter();
    }
  }

  return {
    async take(signal, wanted = 1) {
      if (signal?.aborted === true) throw readerError('READ_ABORTED', 'the read was aborted');
      const places = Math.min(count, wanted);
      if (waiting.size === 0 && free >= places) free -= places;
      else {
        const turn = Promise.withResolvers<undefined>();
        const own: Waiting = { places, enter: () => turn.resolve(undefined) };
        const giveUp = (): void => {
          // If it was admitted meanwhile, it keeps its place.
          if (!waiting.delete(own)) return;
          turn.reject(readerError('READ_ABORTED', 'the read was aborted'));
          admitNext();
        };
        waiting.add(own);
        signal?.addEventListener('abort', giveUp, { once: true });
        await turn.promise.finally(() => signal?.removeEventListener('abort', giveUp));
      }
      let isLeft = false;
      return () => {
        if (isLeft) return;
        isLeft = true;
        free += places;
        admitNext();
      };
    },
  };
}
