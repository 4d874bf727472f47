import { join } from 'node:path';
import { startProcessGroup, type ProcessGroup } from '@opentill/test-servers/process-group';
import { entryPoint } from './checkout.ts';
import type { GatewayService } from './gateway-options.ts';
import type { Environment } from './service-environments.ts';
import { PROCESS_MEMORY } from './process-memory.ts';
import type { Gateway } from './start-gateway.ts';
import { inherited, isReady } from './start-service.ts';

const STOP_DEADLINE_MS = 10_000;
const READY_DEADLINE_MS = 300_000;

const PROCESSES = {
  gateway: [
    'api',
    'scanner-evm',
    'scanner-tron',
    'scanner-sui',
    'confirmation-tracker',
    'webhook-sender',
    'rates',
    'ops',
  ],
  signer: ['payout-signer'],
} as const satisfies Readonly<Record<string, readonly GatewayService[]>>;

export type SmallProcess = keyof typeof PROCESSES;

export async function startSmallProcess(
  gateway: Pick<Gateway, 'environmentOf' | 'directory'>,
  name: SmallProcess,
  env: Environment = {},
): Promise<ProcessGroup> {
  const own = Object.fromEntries(PROCESSES[name].flatMap((service) => prefixed(gateway, service)));
  const healthPort = env['HEALTH_PORT'] ?? gateway.environmentOf(PROCESSES[name][0])['HEALTH_PORT'];
  return startProcessGroup(
    {
      name: `small ${name}`,
      command: process.execPath,
      args: [entryPoint('small', name)],
      env: { ...inherited(), ...PROCESS_MEMORY, TZ: 'UTC', ...own, ...env, HEALTH_PORT: healthPort },
      logFile: join(gateway.directory.logs, `small-${name}.log`),
      stopDeadlineMs: STOP_DEADLINE_MS,
    },
    {
      isReady: async () => isReady(`http://127.0.0.1:${healthPort}/readyz`),
      deadlineMs: READY_DEADLINE_MS,
      pollIntervalMs: 100,
    },
  );
}

/** Prefixes a service's variables: `PORT` of the api becomes `API_PORT`. */
function prefixed(gateway: Pick<Gateway, 'environmentOf'>, service: GatewayService): [string, string][] {
  const prefix = `${service.toUpperCase().replaceAll('-', '_')}_`;
  return Object.entries(gateway.environmentOf(service)).map(([name, value]) => [`${prefix}${name}`, value]);
}
