import { readdirSync, readFileSync } from 'node:fs';

/**
 * Signals a process and all its descendants, parents first, so that none starts another one meanwhile. Postgres'
 * sessions leave its process group, so a signal to the group does not reach them.
 */
export function signalDescendants(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    return; // it has ended
  }
  for (const child of childrenOf(pid)) signalDescendants(child, signal);
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number);
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined; // it has ended
  }
}
