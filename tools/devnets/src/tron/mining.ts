import type { Block } from './chain/block.ts';
import type { Chain } from './chain/chain.ts';
import { mineBlock } from './chain/mine-block.ts';
import { popBlocks } from './chain/reorganise.ts';
import { LIMITS } from './chain/parameters.ts';

export interface Mining {
  mine(count: number): Promise<Block>;
  reorganise(depth: number, options: { readonly drop?: boolean; readonly blocks?: number }): Promise<Block>;
  /** 0 means only on request. */
  blockTimeMs(): number;
  stepTimeMs(byMs: number): void;
  setBlockTimeMs(blockTimeMs: number): void;
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

/** `onError` receives block failures; the timer continues. */
export function createMining(
  chain: Chain,
  options: { readonly blockTimeMs: number; readonly onError: (error: unknown) => void },
): Mining {
  let { blockTimeMs } = options;
  let paused = false;
  let stepMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let making: Promise<unknown> = Promise.resolve();
  const restart = (): void => {
    clearInterval(timer);
    timer = undefined;
    if (blockTimeMs === 0 || paused) return;
    timer = setInterval(() => {
      making = mine(1).catch(options.onError);
    }, blockTimeMs);
  };
  const mineOne = async (): Promise<Block> => {
    const afterMs = stepMs;
    stepMs = 0;
    return mineBlock(chain, nextBlockTime(chain, blockTimeMs, afterMs));
  };
  const mine = async (count: number): Promise<Block> =>
    chain.turns.take(async () => {
      for (let made = 0; made < count; made++) await mineOne();
      return chain.head;
    });
  restart();
  return {
    mine,
    blockTimeMs: () => blockTimeMs,
    stepTimeMs(byMs) {
      stepMs += byMs;
    },
    reorganise: async (depth, { drop = false, blocks = depth + 1 }) =>
      chain.turns.take(async () => {
        await popBlocks(chain, depth, drop);
        for (let made = 0; made < blocks; made++) await mineOne();
        return chain.head;
      }),
    setBlockTimeMs(next) {
      blockTimeMs = next;
      restart();
    },
    pause() {
      paused = true;
      restart();
    },
    resume() {
      paused = false;
      restart();
    },
    async stop() {
      clearInterval(timer);
      timer = undefined;
      await making;
    },
  };
}

/** Requested blocks are three seconds apart, independent of the clock, so that a slow test sees no early expiry. */
function nextBlockTime(chain: Chain, blockTimeMs: number, stepMs: number): number {
  const last = chain.head.timestampMs + stepMs;
  if (blockTimeMs > 0) return Math.max(chain.now(), last + 1);
  return Math.floor(last / LIMITS.slotMs + 1) * LIMITS.slotMs;
}
