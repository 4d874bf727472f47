import { readFileSync } from 'node:fs';

/** Resident memory of a process in megabytes (10^6 bytes), as Linux counts it. */
export function residentMegabytes(pid: number): number {
  return megabytesIn(pid, /^VmRSS:\s+(\d+) kB$/m);
}

/** The most that it ever had. */
export function mostResidentMegabytes(pid: number): number {
  return megabytesIn(pid, /^VmHWM:\s+(\d+) kB$/m);
}

function megabytesIn(pid: number, line: RegExp): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kibibytes = Number(line.exec(status)?.[1] ?? Number.NaN);
  return Math.round((kibibytes * 1024) / 1e5) / 10;
}

/**
 * The same, but of pages that several processes hold each only its share: what a process really takes of a machine, since
 * all of Node's program is common to them.
 */
export function proportionalMegabytes(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kibibytes = Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1] ?? Number.NaN);
  return Math.round((kibibytes * 1024) / 1e5) / 10;
}

/** Resident memory of each service by name. */
export function memoryOf(services: ReadonlyMap<string, { readonly pid: number }>): Record<string, number> {
  return Object.fromEntries([...services].map(([name, { pid }]) => [name, residentMegabytes(pid)]));
}

/** Milliseconds of processor time that a process has used, all its threads together. */
function processorMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}

/** Linux counts processor time in hundredths of a second. */
const MS_PER_TICK = 10;
const LOOK_MS = 500;
const IDLE_SHARE = 0.1;

/** Waits until a process has finished what it does behind its answers, so that it can't slow down what is measured next. */
export async function untilIdle(pid: number): Promise<void> {
  for (;;) {
    const before = processorMs(pid);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    if (processorMs(pid) - before < LOOK_MS * IDLE_SHARE) return;
  }
}
