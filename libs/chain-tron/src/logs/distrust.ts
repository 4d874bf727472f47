import type { TronSource } from '../tron-sources.ts';

const FIRST_MS = 60 * 1_000;
const LONGEST_MS = 60 * 60 * 1_000;

/** Sources that did not prove a log that they showed: for a minute, then twice as long each time, up to an hour. */
export function createDistrust(nowMs: () => number) {
  const distrusted = new Map<TronSource, { readonly untilMs: number; readonly times: number }>();
  return {
    begin(source: TronSource): void {
      const times = (distrusted.get(source)?.times ?? 0) + 1;
      const ms = Math.min(LONGEST_MS, FIRST_MS * 2 ** (times - 1));
      distrusted.set(source, { times, untilMs: nowMs() + ms });
    },
    isOn: (source: TronSource) => nowMs() < (distrusted.get(source)?.untilMs ?? -Infinity),
  };
}
