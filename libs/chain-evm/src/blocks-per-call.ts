import type { BlockRange } from './reading.ts';

/** Some providers return at most 10,000 logs. */
const LOGS_PER_CALL = 9_000;
const BLOCKS_AT_FIRST = 50;
/** The fullest of these calls counts. */
const CALLS_REMEMBERED = 8;

export type BlocksPerCall = ReturnType<typeof createBlocksPerCall>;

/** Number of blocks whose logs fit into one answer, by the logs of recent answers. */
export function createBlocksPerCall() {
  const logsPerBlock: number[] = [];
  return {
    /** `logs`: entries of the answer, also those that are no transfers. */
    note({ from, to }: BlockRange, logs: number): void {
      logsPerBlock.push(logs / (to - from + 1));
      if (logsPerBlock.length > CALLS_REMEMBERED) logsPerBlock.shift();
    },
    now(): number {
      if (logsPerBlock.length === 0) return BLOCKS_AT_FIRST;
      const most = Math.max(...logsPerBlock);
      return most === 0 ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(LOGS_PER_CALL / most));
    },
  };
}
