import { spawn, type ChildProcess } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { findFreePort } from '@opentill/test-servers/free-port';
import { NODE_ENVIRONMENT } from '@opentill/testkit/node-environment';
import type { OrderRow } from '@opentill/testkit/scenario';
import { PASSPHRASE, type SignerWorld } from './signer-world.ts';

export interface SignerProcess {
  readonly child: ChildProcess;
  readonly healthPort: number;
  output(): string;
  readonly ended: Promise<number | string>;
  isReady(): Promise<boolean>;
}

const MAIN = join(import.meta.dirname, '../../src/main.ts');

export async function prepareEnvironment(
  world: Pick<SignerWorld, 'database' | 'keystoreFile' | 'network' | 'amqpUrl'>,
): Promise<Record<string, string>> {
  const dir = dirname(world.keystoreFile);
  const [networks, passphrase] = [join(dir, 'networks.json'), join(dir, 'passphrase')];
  await writeFile(networks, JSON.stringify({ networks: [world.network] }));
  await writeFile(passphrase, `${PASSPHRASE}\n`, { mode: 0o600 });
  return {
    DATABASE_URL: world.database.url('signer'),
    AMQP_URL: await world.amqpUrl(),
    NETWORKS_FILE: networks,
    KEYSTORE_FILE: world.keystoreFile,
    PASSPHRASE_FILE: passphrase,
    PROFILE: 'local',
  };
}

export async function requestPayout(
  { broker, network }: Pick<SignerWorld, 'broker' | 'network'>,
  { order_pk: orderPk }: OrderRow,
): Promise<void> {
  const event = {
    id: orderPk,
    type: 'payout.requested',
    version: 1,
    occurredAt: new Date().toISOString(),
    data: { orderPk },
  };
  const key = `payout.requested.${network.family.toLowerCase()}`;
  await (await broker()).publish(key, JSON.stringify(event));
}

export async function startProcess(env: Readonly<Record<string, string>>): Promise<SignerProcess> {
  const healthPort = await findFreePort();
  const child = spawn(
    process.execPath,
    ['--conditions=source', '--disable-warning=ExperimentalWarning', MAIN],
    {
      env: { ...NODE_ENVIRONMENT, HEALTH_PORT: `${healthPort}`, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  return {
    child,
    healthPort,
    output: () => output,
    ended,
    isReady: async () => (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status === 200,
  };
}
