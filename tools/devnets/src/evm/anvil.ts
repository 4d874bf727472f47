import { mkdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { GatewayError } from '@opentill/domain/gateway-error';
import { callRpc } from './json-rpc.ts';
import { requireFreePorts } from '@opentill/test-servers/port-owner';
import { startProcessGroup } from '@opentill/test-servers/process-group';

export type AnvilErrorCode = 'ANVIL_BINARY_MISSING';

/** `graceful` first writes the state file (with `keepState`); `kill` sends SIGKILL. */
export type AnvilStopMode = 'graceful' | 'kill';

export interface AnvilOptions {
  readonly dir: string;
  readonly port: number;
  /** Listening address. The accounts' keys are public. @default 127.0.0.1 */
  readonly host?: string;
  readonly chainId: number;
  /** Undefined mines a block for every transaction at once. */
  readonly blockTimeSeconds?: number | undefined;
  /** Loads an earlier chain's state file from `dir`, and writes it on stop. @default false */
  readonly keepState?: boolean;
  /** The `finalized` tag is two epochs behind the head. @default 32 slots */
  readonly slotsInAnEpoch?: number;
  readonly hardfork?: string;
  /** `optimism` also charges for data, by the prices in the storage of the predeploy L1Block. */
  readonly network?: 'optimism' | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Anvil {
  readonly rpcUrl: string;
  readonly wsUrl: string;
  readonly port: number;
  readonly chainId: number;
  readonly pid: number;
  readonly logFile: string;
  readonly exited: Promise<unknown>;
  isRunning(): boolean;
  lastLogLines(count: number): string;
  /** @default graceful */
  stop(mode?: AnvilStopMode): Promise<void>;
}

const START_DEADLINE_MS = 300_000;
const DEV_BALANCE_ETHER = 1_000_000;

/** Funds ten accounts (accounts.ts) with 10^6 native coins each. Throws also errors of port-owner and process-group. */
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
      stopSignal: 'SIGINT', // makes anvil write its state
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
    hardfork: options.hardfork ?? (options.network === 'optimism' ? 'isthmus' : 'osaka'),
    network: options.network,
    balance: DEV_BALANCE_ETHER,
    'block-time': options.blockTimeSeconds,
    'slots-in-an-epoch': options.slotsInAnEpoch,
    state: options.keepState ? stateFile : undefined,
  };
  return [
    '--quiet', // without it, anvil logs every call
    ...Object.entries(settings).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}`, `${value}`],
    ),
  ];
}

/** Finds the binary itself. npm's wrapper would add a Node process that must also be stopped. */
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
