import type { Block } from './chain/block.ts';
import type { Chain } from './chain/chain.ts';
import { mineBlock } from './chain/mine-block.ts';
import { popBlocks } from './chain/reorganise.ts';
import { LIMITS } from './chain/parameters.ts';

/** When blocks come: by a timer, or when told. */
export interface Mining {
  mine(count: number): Promise<Block>;
  reorganise(depth: number, options: { readonly drop?: boolean; readonly blocks?: number }): Promise<Block>;
  /** 0: only when told. */
  blockTimeMs(): number;
  /** Puts the next block so much later. */
  stepTimeMs(byMs: number): void;
  setBlockTimeMs(blockTimeMs: number): void;
  pause(): void;
  resume(): void;
  /** Ends the timer and waits for the block that is being made. */
  stop(): Promise<void>;
}

/** `onError` hears of a block that could not be made; the timer goes on. */
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

/**
 * Blocks that come by a timer have the clock's time. Those that are made when told lie three seconds apart, at multiples
 * of three seconds, as on a real network and at each run alike: a chain that waited for its test has not aged, so that
 * nothing expires in it which a minute of chain time would have left.
 */
function nextBlockTime(chain: Chain, blockTimeMs: number, stepMs: number): number {
  const last = chain.head.timestampMs + stepMs;
  if (blockTimeMs > 0) return Math.max(chain.now(), last + 1);
  return Math.floor(last / LIMITS.slotMs + 1) * LIMITS.slotMs;
}
