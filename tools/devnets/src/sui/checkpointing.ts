import type { Chain } from './chain/chain.ts';
import type { Checkpoint } from './chain/checkpoint.ts';
import { closeCheckpoint } from './chain/close-checkpoint.ts';

export interface Checkpointing {
  close(count: number): Checkpoint;
  closeEpoch(): Checkpoint;
  /** 0 means only on request. */
  checkpointMs(): number;
  setCheckpointMs(checkpointMs: number): void;
  stepTimeMs(byMs: number): void;
  pause(): void;
  resume(): void;
}

/** Chain time between checkpoints that are created on request. */
const REQUESTED_SPACING_MS = 250;

export function createCheckpointing(
  chain: Chain,
  options: { readonly checkpointMs: number; readonly now: () => number },
): Checkpointing {
  let { checkpointMs } = options;
  let isPaused = false;
  let stepMs = 0;
  let timer: NodeJS.Timeout | undefined;
  const nextTime = (): number => {
    const last = chain.head.timestampMs + stepMs;
    stepMs = 0;
    return checkpointMs > 0 ? Math.max(options.now(), last) : last + REQUESTED_SPACING_MS;
  };
  const restart = (): void => {
    clearInterval(timer);
    timer = undefined;
    if (checkpointMs === 0 || isPaused) return;
    timer = setInterval(() => closeCheckpoint(chain, nextTime()), checkpointMs);
  };
  // The first checkpoint after genesis, whose time is constant. It starts the epoch's time.
  if (chain.head.number === 0) {
    const { timestampMs: startMs } = closeCheckpoint(chain, options.now());
    chain.epoch = { ...chain.epoch, startMs };
  }
  restart();
  return {
    close(count) {
      for (let left = count; left > 0; left--) closeCheckpoint(chain, nextTime());
      return chain.head;
    },
    closeEpoch: () => closeCheckpoint(chain, nextTime(), { endOfEpoch: true }),
    checkpointMs: () => checkpointMs,
    setCheckpointMs(next) {
      checkpointMs = next;
      restart();
    },
    stepTimeMs(byMs) {
      stepMs += byMs;
    },
    pause() {
      isPaused = true;
      restart();
    },
    resume() {
      isPaused = false;
      restart();
    },
  };
}
