import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { isPortFree } from '@opentill/test-servers/free-port';
import { LOCAL_PORTS } from '@opentill/local/gateway-options';
import { CHECKOUT } from './read-markdown.ts';

export const NEEDED_PORTS: readonly number[] = [
  LOCAL_PORTS.api,
  LOCAL_PORTS.shop,
  LOCAL_PORTS.ops,
  ...Object.values(LOCAL_PORTS.health),
  ...Object.values(LOCAL_PORTS.chains),
];

const LAST_WORDS_MS = 10_000;

export interface NpmStart {
  output(): string;
  readonly ended: Promise<number | string>;
  hasEnded(): boolean;
  /** Sends a signal to the whole group, like Ctrl-C. */
  press(signal: 'SIGINT' | 'SIGKILL'): void;
}

export function runNpmStart(
  stateDir: string,
  args: readonly string[] = [],
  settings: Readonly<Record<string, string>> = {},
): NpmStart {
  const child: ChildProcess = spawn('npm', ['start', '--', ...args], {
    cwd: CHECKOUT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...withoutServers(process.env), OPENTILL_STATE_DIR: stateDir, ...settings },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text));
  let hasEnded = false;
  const ended = new Promise<number | string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => {
      hasEnded = true;
      const end = () => resolve(code ?? signal ?? 'unknown');
      // Waits for output that arrives after the exit, but limited: a child process may keep the pipe open.
      const late = setTimeout(end, LAST_WORDS_MS);
      child.once('close', () => {
        clearTimeout(late);
        end();
      });
    });
  });
  return {
    output: () => output,
    ended,
    hasEnded: () => hasEnded,
    press(signal) {
      if (child.pid !== undefined && !hasEnded) process.kill(-child.pid, signal);
    },
  };
}

/** Without settings of existing servers, so that `npm start` starts its own. */
function withoutServers(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const ours =
    /^(DATABASE_URL|AMQP_URL|MERCHANT_\w+|WEBHOOK_SECRET|CALLBACK_URL|OPENTILL_\w+|NODE_OPTIONS|NODE_ENV|JEST_\w+)$/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !ours.test(name)));
}

/** Command lines of processes that name a directory in their arguments, environment or working directory. */
export function processesOf(directory: string): string[] {
  const read = (pid: string, name: string): string => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, 'latin1').replaceAll('\0', ' ');
    } catch {
      return ''; // the process ended
    }
  };
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .filter((pid) => `${read(pid, 'cmdline')} ${read(pid, 'environ')}`.includes(directory))
    .map((pid) => `${pid} ${read(pid, 'cmdline')}`);
}

export async function takenPorts(): Promise<number[]> {
  const taken: number[] = [];
  for (const port of NEEDED_PORTS) if (!(await isPortFree(port))) taken.push(port);
  return taken;
}
