export const RETRY_AFTER_MAX_MS = 24 * 3_600_000;

/** IMF-fixdate, the only HTTP date format that may be sent today (RFC 9110, 5.6.7). */
const HTTP_DATE =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/;
/** RFC 9110, 15.6.4; RFC 6585, 4. */
const STATUSES: ReadonlySet<number> = new Set([429, 503]);

/** From `now`, at most one day. 0 without the header or with an invalid value. */
export function retryAfterMs(statusCode: number, header: string | undefined, now: Date): number {
  const text = header?.trim() ?? '';
  if (!STATUSES.has(statusCode)) return 0;
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, RETRY_AFTER_MAX_MS);
  if (!HTTP_DATE.test(text)) return 0;
  const delayMs = Date.parse(text) - now.getTime();
  return Number.isNaN(delayMs) ? 0 : Math.min(Math.max(delayMs, 0), RETRY_AFTER_MAX_MS);
}
