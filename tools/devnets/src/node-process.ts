import { mkdirSync, rmSync } from 'node:fs';
import { extname, join } from 'node:path';
import { requireFreePorts } from '@opentill/test-servers/port-owner';
import { startProcessGroup, type ProcessGroup } from '@opentill/test-servers/process-group';

export interface NodeProcessOptions {
  /** Holds the log and the state file. */
  readonly dir: string;
  readonly port: number;
  /** Goes on with the state file of an earlier chain in `dir`, and writes it when stopped. Default false. */
  readonly keepState?: boolean;
  /** Ends the start; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
}

/** A devnet of `opentill devnet` in a process of its own, on 127.0.0.1. */
export interface NodeProcess extends Pick<
  ProcessGroup,
  'pid' | 'logFile' | 'exited' | 'isRunning' | 'lastLogLines'
> {
  /** Base URL. */
  readonly url: string;
  readonly port: number;
  /** `graceful`, the default, writes the state file first (with `keepState`); `kill` is SIGKILL. */
  stop(mode?: 'graceful' | 'kill'): Promise<void>;
}

/** What is particular to a kind of node. */
export interface NodeKind {
  readonly kind: 'tron' | 'sui';
  /** As people read it. */
  readonly name: string;
  readonly args: readonly string[];
  readonly stateFile: string;
  /** Whether the node answers; may throw. */
  readonly answers: (url: string) => Promise<boolean>;
}

const START_DEADLINE_MS = 90_000;

/** Starts the node and waits until it answers. Throws GatewayError of port-owner and process-group. */
export async function startNodeProcess(
  { kind, name, args, stateFile, answers }: NodeKind,
  { dir, port, keepState = false, signal }: NodeProcessOptions,
): Promise<NodeProcess> {
  await requireFreePorts([{ port, purpose: name }]);
  mkdirSync(dir, { recursive: true });
  const url = `http://127.0.0.1:${port}`;
  const state = join(dir, stateFile);
  if (!keepState) rmSync(state, { force: true });
  const extension = extname(import.meta.filename); // unbuilt in tests
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
      env: { PATH: process.env['PATH'], HOME: dir },
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
