/** Most checkpoints that nodes give in one list. */
export const CHECKPOINTS_PER_CALL = 100;

/** How many checkpoints are asked for at once, by what they hold. */
export interface CheckpointsPerCall {
  /** At least one, at most CHECKPOINTS_PER_CALL. */
  now(): number;
  /** How many transactions a checkpoint had. */
  note(transactions: number): void;
}

/** What is read of both sources waits to be compared, of a dozen calls at once: a service has little memory. */
const TRANSACTIONS_PER_CALL = 2_000;
const CHECKPOINTS_LEAST = 4;
/** Until some were read. */
const SUPPOSED = 100;
/** Busy ones are made room for at once, and quiet ones believed when there were many. */
const [RISE, FALL] = [1 / 4, 1 / 64];

export function createCheckpointsPerCall(): CheckpointsPerCall {
  let usual = SUPPOSED;
  return {
    now() {
      const fitting = Math.floor(TRANSACTIONS_PER_CALL / Math.max(1, usual));
      return Math.min(CHECKPOINTS_PER_CALL, Math.max(CHECKPOINTS_LEAST, fitting));
    },
    note(transactions) {
      usual += (transactions - usual) * (transactions > usual ? RISE : FALL);
    },
  };
}
