import { join } from 'node:path';
import {
  startProcessGroup,
  type ProcessGroup,
  type ProcessGroupOptions,
} from '@opentill/test-servers/process-group';
import { entryPoint } from './checkout.ts';
import type { ServiceName } from './gateway-options.ts';
import { PROCESS_MEMORY } from './process-memory.ts';
import type { Environment } from './service-environments.ts';

/** Below the services' own 10 s. Broker (4 s) and database follow within main's limit. */
const STOP_DEADLINE_MS = 7_000;
const READY_DEADLINE_MS = 300_000;
const PROBE_TIMEOUT_MS = 3_000;
/** Ten services start together: a refused request takes 3 ms of processor time, which they need. */
const PROBE_EVERY_MS = 250;

export interface ServiceStart {
  readonly service: ServiceName;
  readonly env: Environment;
  readonly logs: string;
  readonly instance?: string;
  readonly signal?: AbortSignal | undefined;
}

/** Starts a service's bundle and waits for its /readyz. */
export async function startService(start: ServiceStart): Promise<ProcessGroup> {
  const { service, env, logs } = start;
  const name = start.instance ?? service;
  return startProcessGroup(
    {
      name,
      ...commandOf(service),
      env: { ...inherited(), ...PROCESS_MEMORY, TZ: 'UTC', INSTANCE_ID: name, ...env },
      logFile: join(logs, `${name}.log`),
      stopDeadlineMs: STOP_DEADLINE_MS,
    },
    {
      isReady: async () => isReady(`http://127.0.0.1:${env['HEALTH_PORT']}/readyz`),
      deadlineMs: READY_DEADLINE_MS,
      pollIntervalMs: PROBE_EVERY_MS,
      signal: start.signal,
    },
  );
}

/** Hardens the process with the keys. The core limit is inherited, so a shell sets it and becomes the process. */
function commandOf(service: ServiceName): Pick<ProcessGroupOptions, 'command' | 'args'> {
  const args = [entryPoint(service)];
  if (service !== 'payout-signer') return { command: process.execPath, args };
  const closed = [process.execPath, '--disable-sigusr1', '--disable-proto=throw', ...args];
  return { command: '/bin/sh', args: ['-c', 'ulimit -c 0 && exec "$@"', 'sh', ...closed] };
}

export function inherited(): Record<string, string | undefined> {
  const { PATH, NODE_EXTRA_CA_CERTS } = process.env;
  return { PATH, ...(NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS }) };
}

export async function isReady(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
  await response.arrayBuffer();
  return response.status === 200;
}
