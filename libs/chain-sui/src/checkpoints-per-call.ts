/** Limit of nodes for one ListCheckpoints answer. */
export const CHECKPOINTS_PER_CALL = 100;

export interface CheckpointsPerCall {
  /** Between 4 and CHECKPOINTS_PER_CALL. */
  now(): number;
  note(transactions: number): void;
}

/** Bounds memory: checkpoints of both sources wait for comparison, of a dozen calls at once. */
const TRANSACTIONS_PER_CALL = 2_000;
const CHECKPOINTS_MIN = 4;
const ASSUMED_TRANSACTIONS = 100;
/** Weights of the moving average: it rises at once with busy checkpoints and falls slowly with quiet ones. */
const [RISE, FALL] = [1 / 4, 1 / 64];

export function createCheckpointsPerCall(): CheckpointsPerCall {
  let average = ASSUMED_TRANSACTIONS;
  return {
    now() {
      const fitting = Math.floor(TRANSACTIONS_PER_CALL / Math.max(1, average));
      return Math.min(CHECKPOINTS_PER_CALL, Math.max(CHECKPOINTS_MIN, fitting));
    },
    note(transactions) {
      average += (transactions - average) * (transactions > average ? RISE : FALL);
    },
  };
}
