import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Command lines of processes that mention a directory or run in it, without zombies. Finds leftovers of a server. */
export function processesOf(directory: string): string[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
        if (stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z')) return [];
        const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
        const workingDirectory = readlinkSync(`/proc/${pid}/cwd`);
        const environment = readFileSync(`/proc/${pid}/environ`, 'latin1');
        return `${command} ${workingDirectory} ${environment}`.includes(directory)
          ? [`${pid} ${command}`]
          : [];
      } catch {
        return []; // has ended
      }
    });
}
