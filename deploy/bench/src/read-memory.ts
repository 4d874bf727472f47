import { readFileSync } from 'node:fs';

/** Resident memory of a process in megabytes (10^6 bytes), as Linux counts it. */
export function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kibibytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN);
  return Math.round((kibibytes * 1024) / 1e5) / 10;
}

/** Resident memory of each service by name. */
export function memoryOf(services: ReadonlyMap<string, { readonly pid: number }>): Record<string, number> {
  return Object.fromEntries([...services].map(([name, { pid }]) => [name, residentMegabytes(pid)]));
}
