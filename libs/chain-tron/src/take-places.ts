import { readerError } from '@opentill/chain/reader-error';

/** Lets so many in at once, and the others in the order in which they came. */
export interface Places {
  /** Gives the function by which the place is left. Throws READ_ABORTED when the signal aborts first. */
  take(signal: AbortSignal | undefined): Promise<() => void>;
}

export function createPlaces(count: number): Places {
  let free = count;
  const waiting = new Set<() => void>();

  function leave(): void {
    const [next] = waiting;
    if (next === undefined) free += 1;
    else {
      waiting.delete(next);
      next();
    }
  }

  return {
    async take(signal) {
      if (signal?.aborted === true) throw readerError('READ_ABORTED', 'the read was aborted');
      if (free > 0) free -= 1;
      else {
        const turn = Promise.withResolvers<undefined>();
        const enter = (): void => turn.resolve(undefined);
        const giveUp = (): void => {
          // Who has been let in meanwhile has a place.
          if (waiting.delete(enter)) turn.reject(readerError('READ_ABORTED', 'the read was aborted'));
        };
        waiting.add(enter);
        signal?.addEventListener('abort', giveUp, { once: true });
        await turn.promise.finally(() => signal?.removeEventListener('abort', giveUp));
      }
      let isLeft = false;
      return () => {
        if (isLeft) return;
        isLeft = true;
        leave();
      };
    },
  };
}
