import type { LyingAsset, LyingPage, LyingPosition } from './store/sweep-facts.ts';

/** Where a planner is on its way round over all that lies on deposit addresses. */
export interface RoundMemory {
  /** What lies behind this is looked at next; undefined: from the oldest on. */
  after: LyingPosition | undefined;
  /** What operators asked for, and how many sweeps began for it; undefined: nothing. */
  run?: { readonly requests: readonly number[]; begun: number } | undefined;
}

/** A run goes once round over all that lies there: a new request begins at the oldest. */
export function turnToRun(memory: RoundMemory, requests: readonly number[]): void {
  if (requests.length === 0) memory.run = undefined;
  else if (requests.some((request) => memory.run?.requests.includes(request) !== true)) {
    memory.run = { requests, begun: memory.run?.begun ?? 0 };
    memory.after = undefined;
  }
}

/**
 * Only so much is priced in a round, so what is never worth its cost must not hide what is behind it: the next round goes on
 * behind all that waits for something else than its turn, and so on to the end and round.
 *
 * @param keeps what began now or has its turn next, because nobody had room for it
 */
export function turnRound(memory: RoundMemory, page: LyingPage, keeps: ReadonlySet<LyingAsset>): void {
  const next = page.lying.findIndex((one) => keeps.has(one));
  if (next > 0) memory.after = page.lying[next - 1]?.position;
  if (next === -1) memory.after = page.isLast ? undefined : page.lying.at(-1)?.position;
}
