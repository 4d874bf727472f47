import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Gateway } from '@opentill/local/start-gateway';

/** Seconds of processor time by process, all its threads together; a server's processes as one. */
export type ProcessorSeconds = Readonly<Record<string, number>>;

/** Linux counts processor time in hundredths of a second. */
const TICKS_PER_SECOND = 100;

/** What everything that takes part has used so far. */
export function readProcessorSeconds(gateway: Gateway): ProcessorSeconds {
  const { servers } = gateway.directory;
  const ours = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && belongsTo(pid, servers));
  const seconds: Record<string, number> = {};
  for (const [name, { pid }] of gateway.services) seconds[name] = secondsOf(`${pid}`);
  const { tron } = gateway;
  for (const { network, node } of tron === undefined ? gateway.chains : [...gateway.chains, tron])
    seconds[`devnet ${network.chain}`] = secondsOf(`${node.pid}`);
  const sumOf = (pids: readonly string[]): number => pids.reduce((sum, pid) => sum + secondsOf(pid), 0);
  seconds['Postgres'] = sumOf(ours.filter((pid) => commandOf(pid) === 'postgres'));
  seconds['RabbitMQ'] = sumOf(ours.filter((pid) => commandOf(pid) === 'beam.smp'));
  const { user, system } = process.cpuUsage();
  seconds['the bench itself'] = (user + system) / 1e6;
  return seconds;
}

/** Cores used between two readings, over `elapsedSeconds`; to two decimals. */
export function coresUsed(
  before: ProcessorSeconds,
  after: ProcessorSeconds,
  elapsedSeconds: number,
): ProcessorSeconds {
  return Object.fromEntries(
    Object.entries(after).map(([name, seconds]) => [
      name,
      Math.round(((seconds - (before[name] ?? 0)) / elapsedSeconds) * 100) / 100,
    ]),
  );
}

function belongsTo(pid: string, directory: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`).startsWith(directory);
  } catch {
    return false; // ended meanwhile
  }
}

function commandOf(pid: string): string {
  return statOf(pid)?.command ?? '';
}

function secondsOf(pid: string): number {
  return (statOf(pid)?.ticks ?? 0) / TICKS_PER_SECOND;
}

function statOf(pid: string): { command: string; ticks: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const end = stat.lastIndexOf(')');
    const fields = stat.slice(end + 2).split(' ');
    return {
      command: stat.slice(stat.indexOf('(') + 1, end),
      ticks: Number(fields[11]) + Number(fields[12]),
    };
  } catch {
    return undefined;
  }
}
