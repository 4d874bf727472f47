import { mkdirSync, rmSync } from 'node:fs';
import { extname, join } from 'node:path';
import { requireFreePorts } from './port-owner.ts';
import { startProcessGroup, type ProcessGroup } from './process-group.ts';

export interface TronNodeOptions {
  /** Holds the log and the state file. */
  readonly dir: string;
  readonly port: number;
  readonly blockTimeMs: number;
  /** How far the solidified block is behind the head. */
  readonly solidLagBlocks: number;
  /** Goes on with the state file of an earlier chain in `dir`, and writes it when stopped. Default false. */
  readonly keepState?: boolean;
}

/** A TRON devnet (`opentill devnet tron`) in a process of its own, on 127.0.0.1. */
export interface TronNode extends Pick<
  ProcessGroup,
  'pid' | 'logFile' | 'exited' | 'isRunning' | 'lastLogLines'
> {
  /** Base URL: `wallet/…`, `walletsolidity/…` and `devnet/…` are below it. */
  readonly url: string;
  readonly port: number;
  /** `graceful`, the default, writes the state file first (with `keepState`); `kill` is SIGKILL. */
  stop(mode?: 'graceful' | 'kill'): Promise<void>;
}

const START_DEADLINE_MS = 20_000;
const PROBE_TIMEOUT_MS = 1_000;

/** Starts the node. Throws GatewayError of port-owner and process-group. */
export async function startTronNode(options: TronNodeOptions): Promise<TronNode> {
  const { dir, port } = options;
  await requireFreePorts([{ port, purpose: 'the TRON devnet' }]);
  mkdirSync(dir, { recursive: true });
  const url = `http://127.0.0.1:${port}`;
  const group = await startProcessGroup(
    {
      name: `the TRON devnet on port ${port}`,
      command: process.execPath,
      args: nodeArguments(options),
      env: { PATH: process.env['PATH'], HOME: dir },
      cwd: dir,
      logFile: join(dir, 'tron.log'),
    },
    { isReady: async () => answers(url), deadlineMs: START_DEADLINE_MS, pollIntervalMs: 50 },
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

function nodeArguments({
  dir,
  port,
  blockTimeMs,
  solidLagBlocks,
  keepState = false,
}: TronNodeOptions): string[] {
  const stateFile = join(dir, 'state.bin');
  if (!keepState) rmSync(stateFile, { force: true });
  const extension = extname(import.meta.filename); // unbuilt in tests
  return [
    ...(extension === '.ts' ? ['--conditions=source'] : ['--enable-source-maps']),
    join(import.meta.dirname, `main${extension}`),
    'tron',
    `--port=${port}`,
    `--block-time-ms=${blockTimeMs}`,
    `--solid-lag=${solidLagBlocks}`,
    ...(keepState ? [`--state=${stateFile}`] : []),
  ];
}

async function answers(url: string): Promise<boolean> {
  const response = await fetch(`${url}/wallet/getnowblock`, {
    method: 'POST',
    signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
  });
  await response.arrayBuffer();
  return response.ok;
}
