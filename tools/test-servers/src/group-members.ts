import { existsSync, readdirSync, readFileSync } from 'node:fs';

/**
 * Process ids that belong to a process group or carry the mark in their environment; zombies don't count (they
 * hold nothing, and a slow init may keep them for a while). Without /proc only the group itself can be asked,
 * and its id stands for all members.
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
  // The command name stands in parentheses and may hold anything; state, parent and group follow the last one.
  const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (state === undefined || group === undefined || state === 'Z' || state === 'X') return false;
  return Number(group) === groupId || readProc(pid, 'environ').includes(`OPENTILL_PROCESS_GROUP=${mark}\0`);
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return ''; // it ended meanwhile, or belongs to somebody else
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
