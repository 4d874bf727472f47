import { readFileSync } from 'node:fs';
import { sleep } from './wait.ts';

/** Linux counts processor time in hundredths of a second. */
const MS_PER_TICK = 10;
const POLL_MS = 500;
const IDLE_SHARE = 0.1;

/** Resident memory of a process in megabytes (10^6 bytes). */
export function residentMegabytes(pid: number): number {
  return megabytesIn(`/proc/${pid}/status`, /^VmRSS:\s+(\d+) kB$/m);
}

/** The most resident memory that the process has had. */
export function mostResidentMegabytes(pid: number): number {
  return megabytesIn(`/proc/${pid}/status`, /^VmHWM:\s+(\d+) kB$/m);
}

/** Resident memory in which a page of several processes counts in parts: Node's program is common to them. */
export function proportionalMegabytes(pid: number): number {
  return megabytesIn(`/proc/${pid}/smaps_rollup`, /^Pss:\s+(\d+) kB$/m);
}

function megabytesIn(file: string, line: RegExp): number {
  const kibibytes = Number(line.exec(readFileSync(file, 'utf8'))?.[1] ?? Number.NaN);
  return Math.round((kibibytes * 1024) / 1e5) / 10;
}

/** Processor time of all threads of a process. */
export function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

/** Processor time of the main thread of a process, to the nanosecond. */
export function mainThreadMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
}

/** Waits until a process has finished its background work, which would slow down the next measurement. */
export async function untilIdle(pid: number): Promise<void> {
  for (;;) {
    const before = processorMs(pid);
    await sleep(POLL_MS);
    if (processorMs(pid) - before < POLL_MS * IDLE_SHARE) return;
  }
}
