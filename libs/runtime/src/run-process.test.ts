import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { spawn } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';

const children: { kill(signal: 'SIGKILL'): void }[] = [];
afterEach(() => children.splice(0).forEach((child) => child.kill('SIGKILL')));

async function aFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function start(port: number, stop: string) {
  const module = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
  const script = `
    const { runProcess } = await import(${module('run-process.ts')});
    const { createMetrics } = await import(${module('metrics.ts')});
    const compose = async (env, { fail, sharesProcess }) => ({
      checks: { database: async () => ({ ok: !sharesProcess }) },
      metrics: createMetrics('test', { ofProcess: !sharesProcess }),
      health: { port: Number(env.HEALTH_PORT), host: '127.0.0.1' },
      stop: async () => { ${stop} },
    });
    await runProcess('test', compose, process.env);`;
  const child = spawn(process.execPath, ['--conditions=source', '--input-type=module', '-e', script], {
    cwd: new URL('.', import.meta.url),
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { HEALTH_PORT: `${port}`, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
  });
  children.push(child);
  let output = '';
  const started = new Promise<void>((resolve) =>
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('service started')) resolve();
    }),
  );
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  await Promise.race([started, ended]);
  return { child, ended, output: () => output };
}

const statusOf = async (port: number): Promise<number> =>
  (await fetch(`http://127.0.0.1:${port}/readyz`)).status;

test('serves health at its port and reports stopping until it has stopped', async () => {
  const port = await aFreePort();
  const { child, ended } = await start(
    port,
    `const answer = await fetch('http://127.0.0.1:' + process.env.HEALTH_PORT + '/readyz');
     if (answer.status !== 503) process.exit(99);`,
  );
  expect(await statusOf(port)).toBe(200);
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(metrics).toContain('process_cpu_seconds_total');
  expect(metrics).toContain('opentill_health_check_bool{check="database",service="test"} 1\n');
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
});

test('stops the composition when its health port is in use', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { ended, output } = await start(
    (server.address() as AddressInfo).port,
    `process.stdout.write('was stopped\\n');`,
  );
  expect(await ended).toBe(75);
  expect(output()).toContain('was stopped');
  server.close();
});
