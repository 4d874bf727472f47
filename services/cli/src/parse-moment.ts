import { usage } from './context.ts';

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;
const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** `90s`, `15m`, `24h` or `7d`. @returns seconds */
export function parseDurationSeconds(option: string, text: string, maxSeconds: number): number {
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  const seconds = match === null ? 0 : Number(match[1]) * SECONDS[match[2] as keyof typeof SECONDS];
  if (seconds > 0 && seconds <= maxSeconds) return seconds;
  throw usage(
    `${option} must be a duration such as 90s, 15m, 24h or 7d, at most ${maxSeconds / 86_400} days, not ${text}.`,
  );
}

/** A date, a time with its zone, or a duration before now. */
function parseMoment(option: string, text: string, now: Date): Date {
  if (/^\d+[smhd]$/.test(text)) {
    return new Date(now.getTime() - parseDurationSeconds(option, text, 3_650 * 86_400) * 1_000);
  }
  const moment = new Date(text);
  if (ISO_TIME.test(text) && !Number.isNaN(moment.getTime())) return moment;
  throw usage(`${option} must be a time such as 2026-03-01, 2026-03-01T12:00:00Z or 24h (ago), not ${text}.`);
}

export function parseOptionalTime<T extends string | undefined>(now: Date, option: string, text: T): T {
  return text === undefined ? text : (parseMoment(option, text, now).toISOString() as T);
}
