import { existsSync, readdirSync, readFileSync } from 'node:fs';

/**
 * Ids of processes in the group or with the mark in their environment. Excludes zombies, which hold no resources and
 * which a slow init may keep for a while. Without /proc, returns the group id while the group lives.
 */
export function findGroupMembers(groupId: number, mark: string): number[] {
  if (!existsSync('/proc/self/stat')) return isGroupAlive(groupId) ? [groupId] : [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isMember(pid, groupId, mark));
}

function isMember(pid: number, groupId: number, mark: string): boolean {
  const stat = readProc(pid, 'stat');
  // The command name is in parentheses and may contain any text. State, parent and group follow the last parenthesis.
  const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (state === undefined || group === undefined || state === 'Z' || state === 'X') return false;
  return Number(group) === groupId || readProc(pid, 'environ').includes(`OPENTILL_PROCESS_GROUP=${mark}\0`);
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return ''; // it has ended, or belongs to another user
  }
}

function isGroupAlive(groupId: number): boolean {
  try {
    process.kill(-groupId, 0);
    return true;
  } catch {
    return false;
  }
}
