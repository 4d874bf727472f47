import { execFile } from 'node:child_process';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import type { Logger, LogFields } from '../src/logger.ts';
import { startTracing } from '../src/start-tracing.ts';
import { isTracing, startTrace } from '../src/tracing.ts';

let server: Server | undefined;
afterEach(() => {
  server?.close();
});

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function startCollector(received: Received[]): Promise<string> {
  server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body });
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function start(endpoint: string, lines: [string, LogFields?][], headers?: string, service = 'api') {
  const write = (...line: [string, LogFields?]) => void lines.push(line);
  const logger = { info: write, warn: write } as unknown as Logger;
  const settings = { endpoint, headers, sampleRatio: 1 };
  return startTracing({ service, instanceId: 'one', settings, logger });
}

test('sends the last spans to the collector when the service stops', async () => {
  const received: Received[] = [];
  const stop = await start(`${await startCollector(received)}/`, [], 'x-key=a%20b,x-tenant=t1');
  startTrace('api', 'createCollection', { parent: undefined })?.end();
  await stop();
  expect(isTracing('api')).toBe(false);
  expect(received).toHaveLength(1);
  expect(received[0]).toMatchObject({
    path: '/v1/traces',
    headers: { 'content-type': 'application/json', 'x-key': 'a b', 'x-tenant': 't1' },
  });
  expect(received[0]?.body).toContain('createCollection');
});

test('exports the spans of two services in one process without a warning', async () => {
  const received: Received[] = [];
  const endpoint = await startCollector(received);
  const lines: [string, LogFields?][] = [];
  const stops = [await start(endpoint, lines), await start(endpoint, lines, undefined, 'ops')];
  for (const service of ['api', 'ops']) startTrace(service, 'work', { parent: undefined })?.end();
  for (const stop of stops) await stop();
  expect(lines.map(([message]) => message)).toEqual(['traces on', 'traces on']);
  expect(received.map(({ body }) => /"service.name","value":{"stringValue":"(\w+)"/.exec(body)?.[1])).toEqual(
    ['api', 'ops'],
  );
});

test('stops in time and warns once while the collector cannot be reached', async () => {
  const endpoint = await startCollector([]);
  await new Promise((resolve) => server?.close(resolve));
  const lines: [string, LogFields?][] = [];
  const stop = await start(endpoint, lines);
  startTrace('api', 'createCollection', { parent: undefined })?.end();
  await stop();
  expect(lines.map(([message]) => message)).toEqual(['traces on', 'spans not exported']);
});

test('loads no SDK while tracing is off', async () => {
  const source = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    const { startTracing } = await import('@opentill/runtime/start-tracing');
    await startTracing({ service: 'api', instanceId: 'one', settings: undefined });
    await import('@opentill/runtime/logger');
    const packages = loaded.flatMap((url) => url.match(/(?<=node_modules.)@opentelemetry.[a-z-]+/) ?? []);
    console.log(JSON.stringify([...new Set(packages)]));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--conditions=source', '-e', source],
    { cwd: import.meta.dirname },
  );
  expect(JSON.parse(stdout)).toEqual(['@opentelemetry/api']);
});
