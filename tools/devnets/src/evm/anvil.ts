import { mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';
import { callRpc } from './json-rpc.ts';
import { requireFreePorts } from '@opentill/test-servers/port-owner';
import { startProcessGroup } from '@opentill/test-servers/process-group';

/** - `ANVIL_BINARY_MISSING`: the npm package for this platform is not installed. */
export type AnvilErrorCode = 'ANVIL_BINARY_MISSING';

/** `graceful` writes the state file first (with `keepState`), `kill` is SIGKILL. */
export type AnvilStopMode = 'graceful' | 'kill';

export interface AnvilOptions {
  /** Holds the log and the state file. */
  readonly dir: string;
  /** HTTP and WebSocket. */
  readonly port: number;
  /** The address it listens at. Default 127.0.0.1: its accounts' keys are everybody's. */
  readonly host?: string;
  /** EIP-155. */
  readonly chainId: number;
  /** A block every so many seconds; undefined: a block for every transaction, at once. */
  readonly blockTimeSeconds?: number | undefined;
  /** Goes on with the state file of an earlier chain in `dir`, and writes it when stopped. Default false. */
  readonly keepState?: boolean;
  /** The `finalized` tag is two epochs behind the head. Default 32 slots. */
  readonly slotsInAnEpoch?: number;
  readonly hardfork?: string;
  /** Ends the start; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
}

/** A running devnet of one chain. */
export interface Anvil {
  readonly rpcUrl: string;
  readonly wsUrl: string;
  readonly port: number;
  readonly chainId: number;
  readonly pid: number;
  readonly logFile: string;
  /** Resolves when the node has ended, for whatever reason. */
  readonly exited: Promise<unknown>;
  isRunning(): boolean;
  lastLogLines(count: number): string;
  /** Default graceful. */
  stop(mode?: AnvilStopMode): Promise<void>;
}

const START_DEADLINE_MS = 90_000;
const DEV_BALANCE_ETHER = 1_000_000;

/**
 * Starts an anvil node with the ten well-known accounts (evm-accounts.ts), each holding a million of the native coin.
 * Throws GatewayError of this module, port-owner and process-group.
 */
export async function startAnvil(options: AnvilOptions): Promise<Anvil> {
  const { dir, port, chainId } = options;
  await requireFreePorts([{ port, purpose: `the devnet with chain id ${chainId}` }]);
  mkdirSync(dir, { recursive: true });
  const rpcUrl = `http://127.0.0.1:${port}`;
  const group = await startProcessGroup(
    {
      name: `anvil on port ${port}`,
      command: findAnvil(),
      args: anvilArguments(options),
      env: { PATH: process.env['PATH'], HOME: dir },
      cwd: dir,
      logFile: join(dir, 'anvil.log'),
      stopSignal: 'SIGINT', // on which it writes its state
    },
    {
      isReady: async () => Number(await callRpc(rpcUrl, 'eth_chainId', [], { timeoutMs: 1_000 })) === chainId,
      deadlineMs: START_DEADLINE_MS,
      pollIntervalMs: 25,
      signal: options.signal,
    },
  );
  return {
    rpcUrl,
    wsUrl: `ws://127.0.0.1:${port}`,
    port,
    chainId,
    pid: group.pid,
    logFile: group.logFile,
    exited: group.exited,
    isRunning: group.isRunning,
    lastLogLines: group.lastLogLines,
    stop: async (mode = 'graceful') => group.stop(mode === 'kill' ? { signal: 'SIGKILL' } : {}),
  };
}

function anvilArguments(options: AnvilOptions): string[] {
  const stateFile = join(options.dir, 'state.json');
  if (!options.keepState) rmSync(stateFile, { force: true });
  const settings: Record<string, string | number | undefined> = {
    host: options.host ?? '127.0.0.1',
    port: options.port,
    'chain-id': options.chainId,
    hardfork: options.hardfork ?? 'osaka',
    balance: DEV_BALANCE_ETHER,
    'block-time': options.blockTimeSeconds,
    'slots-in-an-epoch': options.slotsInAnEpoch,
    state: options.keepState ? stateFile : undefined,
  };
  return [
    '--quiet', // it would log every call
    ...Object.entries(settings).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, `${value}`],
    ),
  ];
}

/** Path of the node's own binary: the npm wrapper would put a Node process between us and it. */
function findAnvil(): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const name = `@foundry-rs/anvil-${process.platform}-${arch}`;
  try {
    const owner = createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json');
    return join(dirname(createRequire(owner).resolve(`${name}/package.json`)), 'bin', 'anvil');
  } catch (cause) {
    throw new GatewayError<AnvilErrorCode>(
      'ANVIL_BINARY_MISSING',
      `The devnet's node for this platform (${name}) is not installed: run pnpm install without --no-optional.`,
      { retryable: false, cause },
    );
  }
}
