import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** Excludes zombies, which a slow init may keep. Without /proc, returns the group id while the group lives. */
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
