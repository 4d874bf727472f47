import { mkdirSync, rmSync } from 'node:fs';
import { extname, join } from 'node:path';
import { requireFreePorts } from '@opentill/test-servers/port-owner';
import { startProcessGroup, type ProcessGroup } from '@opentill/test-servers/process-group';

export interface NodeProcessOptions {
  readonly dir: string;
  readonly port: number;
  /** Loads an earlier chain's state file from `dir`, and writes it on stop. @default false */
  readonly keepState?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** An `opentill devnet` in its own process, on 127.0.0.1. */
export interface NodeProcess extends Pick<
  ProcessGroup,
  'pid' | 'logFile' | 'exited' | 'isRunning' | 'lastLogLines'
> {
  readonly url: string;
  readonly port: number;
  /** `graceful` first writes the state file (with `keepState`); `kill` sends SIGKILL. @default graceful */
  stop(mode?: 'graceful' | 'kill'): Promise<void>;
}

export interface NodeKind {
  readonly kind: 'tron' | 'sui';
  readonly name: string;
  readonly args: readonly string[];
  readonly stateFile: string;
  readonly answers: (url: string) => Promise<boolean>;
}

const START_DEADLINE_MS = 300_000;

/** Waits until the node responds. Throws GatewayError of port-owner and process-group. */
export async function startNodeProcess(
  { kind, name, args, stateFile, answers }: NodeKind,
  { dir, port, keepState = false, signal }: NodeProcessOptions,
): Promise<NodeProcess> {
  await requireFreePorts([{ port, purpose: name }]);
  mkdirSync(dir, { recursive: true });
  const url = `http://127.0.0.1:${port}`;
  const state = join(dir, stateFile);
  if (!keepState) rmSync(state, { force: true });
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const extension = extname(import.meta.filename); // tests run the TypeScript sources
  const group = await startProcessGroup(
    {
      name: `${name} on port ${port}`,
      command: process.execPath,
      args: [
        ...(extension === '.ts' ? ['--conditions=source'] : ['--enable-source-maps']),
        join(import.meta.dirname, `main${extension}`),
        kind,
        `--port=${port}`,
        ...args,
        ...(keepState ? [`--state=${state}`] : []),
      ],
      env: { PATH, NODE_COMPILE_CACHE, HOME: dir },
      cwd: dir,
      logFile: join(dir, `${kind}.log`),
    },
    { isReady: async () => answers(url), deadlineMs: START_DEADLINE_MS, pollIntervalMs: 50, signal },
  );
  const { pid, logFile, exited, isRunning, lastLogLines } = group;
  return {
    url,
    port,
    pid,
    logFile,
    exited,
    isRunning,
    lastLogLines,
    stop: async (mode = 'graceful') => group.stop(mode === 'kill' ? { signal: 'SIGKILL' } : {}),
  };
}
