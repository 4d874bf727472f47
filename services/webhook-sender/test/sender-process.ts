import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { NODE_ENVIRONMENT } from '@opentill/testkit/node-environment';
import { TEST_SECRETS_KEY_BASE64 } from '@opentill/testkit/scenario';
import { createTestBroker, type TestBroker } from '@opentill/testkit/test-broker';
import type { useDeliveryScenario } from './delivery-scenario.ts';

const MAIN = join(import.meta.dirname, '..', 'src', 'main.ts');

export function useSenderProcesses(s: ReturnType<typeof useDeliveryScenario>) {
  let rabbit: TestBroker;
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    rabbit = await createTestBroker();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
  afterAll(() => rabbit.drop());

  async function aPort(): Promise<{ server: Server; port: number }> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { server, port: (server.address() as AddressInfo).port };
  }

  async function freePort(): Promise<number> {
    const { server, port } = await aPort();
    server.close();
    await once(server, 'close');
    return port;
  }

  function start(settings: Record<string, string>): { child: ChildProcess; lines: () => string[] } {
    const child = spawn(process.execPath, ['--conditions=source', MAIN], {
      env: { ...NODE_ENVIRONMENT, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    children.push(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream!.on('data', (chunk: Buffer) => (output += chunk.toString()));
    return { child, lines: () => output.split('\n').filter((line) => line !== '') };
  }

  const settings = async (port: number) => ({
    DATABASE_URL: s.database.url('webhook'),
    AMQP_URL: await rabbit.urlFor('webhook-sender'),
    SECRETS_KEY: TEST_SECRETS_KEY_BASE64,
    ALLOW_HTTP_CALLBACKS: 'true',
    ALLOWED_CALLBACK_ADDRESSES: '127.0.0.1/32',
    HEALTH_PORT: String(port),
  });

  return { aPort, freePort, start, settings };
}
