import { readdirSync, readFileSync } from 'node:fs';
import { sleep } from './wait.ts';

/** Linux counts processor time in ticks of 10 ms. */
const MS_PER_TICK = 10;
/** The api begins to derive addresses up to 2 s after a load. */
const IDLE_WINDOW_MS = 3_000;
const IDLE_SHARE = 0.1;

export function residentMegabytes(pid: number): number {
  return megabytesIn(`/proc/${pid}/status`, /^VmRSS:\s+(\d+) kB$/m);
}

/** Peak resident memory since the start of the process, in MB. */
export function mostResidentMegabytes(pid: number): number {
  return megabytesIn(`/proc/${pid}/status`, /^VmHWM:\s+(\d+) kB$/m);
}

/** Proportional set size in MB: pages shared by several processes, such as Node's program, count in parts. */
export function proportionalMegabytes(pid: number): number {
  return megabytesIn(`/proc/${pid}/smaps_rollup`, /^Pss:\s+(\d+) kB$/m);
}

function megabytesIn(file: string, line: RegExp): number {
  const kibibytes = Number(line.exec(readFileSync(file, 'utf8'))?.[1] ?? Number.NaN);
  return Math.round((kibibytes * 1024) / 1e5) / 10;
}

export function processorMs(pid: number): number {
  const fields = statFields(pid);
  return fields === undefined ? 0 : ticksMs(fields, [11, 12]);
}

/** Processor time of a process with its children, running and ended. */
export function familyMs(pid: number): number {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const fields = statFields(Number(name));
      return fields !== undefined && Number(fields[1]) === pid ? ticksMs(fields, [11, 12]) : [];
    });
  const own = statFields(pid);
  return (own === undefined ? 0 : ticksMs(own, [11, 12, 13, 14])) + children.reduce((sum, ms) => sum + ms, 0);
}

/** Undefined when the process has ended. */
function statFields(pid: number): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

function ticksMs(fields: readonly string[], places: readonly number[]): number {
  return places.reduce((sum, place) => sum + Number(fields[place]), 0) * MS_PER_TICK;
}

/** Processor time of the main thread, with nanosecond resolution. */
export function mainThreadMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

/** Waits until the process has finished background work, which would slow down the next measurement. */
export async function untilIdle(pid: number): Promise<void> {
  for (;;) {
    const before = processorMs(pid);
    await sleep(IDLE_WINDOW_MS);
    if (processorMs(pid) - before < IDLE_WINDOW_MS * IDLE_SHARE) return;
  }
}
