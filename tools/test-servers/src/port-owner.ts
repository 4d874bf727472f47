import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { GatewayError } from '@opentill/domain/gateway-error';
import { isPortFree } from './free-port.ts';

export type PortOwnerErrorCode = 'PORT_TAKEN';

/** State "listening" in /proc/net/tcp (Linux, include/net/tcp_states.h). */
const TCP_LISTEN = '0A';

/** Throws GatewayError<PortOwnerErrorCode> that names every taken port with its `purpose`. */
export async function requireFreePorts(
  ports: readonly { readonly port: number; readonly purpose: string }[],
): Promise<void> {
  const problems: string[] = [];
  for (const { port, purpose } of ports) {
    if (await isPortFree(port)) continue;
    const owner = findPortOwner(port);
    const holder = owner === undefined ? 'another process' : `process ${owner.pid} (${owner.command})`;
    problems.push(`port ${port}, needed for ${purpose}, is taken by ${holder}`);
  }
  if (problems.length === 0) return;
  const sentence = `${problems.join('; ')}.`;
  throw new GatewayError<PortOwnerErrorCode>(
    'PORT_TAKEN',
    `${sentence[0]?.toUpperCase()}${sentence.slice(1)} Stop it first.`,
    { retryable: false },
  );
}

/** Undefined if the process is not visible (another user's, or no /proc). */
export function findPortOwner(port: number): { pid: number; command: string } | undefined {
  const inodes = new Set(
    ['tcp', 'tcp6'].flatMap((table) => listeningInodes(readText(`/proc/net/${table}`), port)),
  );
  if (inodes.size === 0) return undefined;
  for (const pid of listDirectory('/proc').filter((name) => /^\d+$/.test(name))) {
    for (const descriptor of listDirectory(`/proc/${pid}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(readLink(`/proc/${pid}/fd/${descriptor}`))?.[1];
      if (inode === undefined || !inodes.has(inode)) continue;
      return { pid: Number(pid), command: shortenCommand(readText(`/proc/${pid}/cmdline`)) };
    }
  }
  return undefined;
}

export function shortenCommand(commandLine: string): string {
  const words = commandLine.split('\0').filter((word) => word !== '');
  const short = words
    .map((word, index) =>
      word
        .split('/')
        .slice(index === 0 ? -1 : -3)
        .join('/'),
    )
    .join(' ');
  return short.length > 80 ? `${short.slice(0, 80)}…` : short;
}

export function listeningInodes(table: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const inodes: string[] = [];
  for (const line of table.split('\n').slice(1)) {
    const [, localAddress, , state, , , , , , inode] = line.trim().split(/\s+/);
    if (localAddress?.endsWith(suffix) && state === TCP_LISTEN && inode !== undefined) inodes.push(inode);
  }
  return inodes;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function readLink(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return '';
  }
}

function listDirectory(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
