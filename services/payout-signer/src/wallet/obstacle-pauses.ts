/** Back-off of payouts that could not be signed. Only in memory: a start tries all at once. */
export interface ObstaclePauses {
  isDue(orderPk: string, nowMs: number): boolean;
  put(orderPk: string, nowMs: number): void;
  forget(orderPk: string): void;
}

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
/** Payouts that expire while they wait are not removed one by one. At this number all are removed and tried again. */
const REMEMBERED_MAX = 10_000;

export function createObstaclePauses(): ObstaclePauses {
  const pauses = new Map<string, { readonly times: number; readonly untilMs: number }>();
  return {
    isDue: (orderPk, nowMs) => nowMs >= (pauses.get(orderPk)?.untilMs ?? 0),
    put(orderPk, nowMs) {
      if (pauses.size >= REMEMBERED_MAX) pauses.clear();
      const times = (pauses.get(orderPk)?.times ?? 0) + 1;
      const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(times - 1, 10));
      pauses.set(orderPk, { times, untilMs: nowMs + pauseMs });
    },
    forget: (orderPk) => void pauses.delete(orderPk),
  };
}
