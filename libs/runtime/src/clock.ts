/** Source of time for all code below `main.ts`, so that tests can set it. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

export function unixSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000);
}
