import { afterEach, expect, test } from 'vitest';
import { createHealthServer, observeChecks, type Checks, type HealthServer } from './health.ts';
import { createMetrics } from './metrics.ts';

let server: HealthServer | undefined;
afterEach(async () => {
  await server?.stop();
});

async function start(checks: Checks | (() => Checks), checkTimeoutMs = 1_000) {
  const created = createHealthServer({
    port: 0,
    host: '127.0.0.1',
    metrics: createMetrics('test'),
    checks,
    checkTimeoutMs,
  });
  server = created;
  const port = await created.start();
  return async (path: string, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    return { status: response.status, text: await response.text() };
  };
}

test('is ready when every check passes, and lists each check', async () => {
  const get = await start({
    database: () => Promise.resolve({ ok: true }),
    broker: () => Promise.resolve({ ok: true, detail: 'connected' }),
  });
  const { status, text } = await get('/readyz?x=1');
  expect(status).toBe(200);
  expect(JSON.parse(text)).toEqual({
    status: 'ready',
    checks: { database: { ok: true }, broker: { ok: true, detail: 'connected' } },
  });
});

test('is alive but not ready when a check fails, throws or times out', async () => {
  const get = await start(
    {
      fails: () => Promise.resolve({ ok: false, detail: 'too far behind' }),
      throws: () => Promise.reject(new Error('no database')),
      throwsAtOnce: () => {
        throw new Error('bug');
      },
      hangs: () => new Promise(() => undefined),
    },
    50,
  );
  const { status, text } = await get('/readyz');
  expect(status).toBe(503);
  expect(JSON.parse(text)).toEqual({
    status: 'not ready',
    checks: {
      fails: { ok: false, detail: 'too far behind' },
      throws: { ok: false, detail: 'no database' },
      throwsAtOnce: { ok: false, detail: 'bug' },
      hangs: { ok: false, detail: 'no answer within 50 ms' },
    },
  });
  expect((await get('/livez')).status).toBe(200);
});

test('is not ready while draining, and follows changed checks', async () => {
  let checks: Checks = {};
  const get = await start(() => checks);
  expect((await get('/readyz')).status).toBe(200);
  checks = { late: () => Promise.resolve({ ok: false }) };
  expect((await get('/readyz')).status).toBe(503);
  checks = {};
  server?.drain();
  expect(JSON.parse((await get('/readyz')).text)).toMatchObject({ status: 'stopping' });
});

test('serves metrics and rejects other paths and methods', async () => {
  const get = await start({});
  expect((await get('/metrics')).text).toContain('process_cpu_seconds_total');
  expect((await get('/')).status).toBe(404);
  expect((await get('/readyz', 'POST')).status).toBe(405);
  expect((await get('/readyz', 'HEAD')).text).toBe('');
});

test('rejects start when the port is in use', async () => {
  await start({});
  const port = await createPortInUse();
  await expect(
    createHealthServer({ port, host: '127.0.0.1', metrics: createMetrics('x'), checks: {} }).start(),
  ).rejects.toMatchObject({ code: 'EADDRINUSE' });

  async function createPortInUse(): Promise<number> {
    const other = createHealthServer({ port: 0, host: '127.0.0.1', metrics: createMetrics('y'), checks: {} });
    const taken = await other.start();
    const previous = server;
    server = {
      ...other,
      stop: async () => {
        await other.stop();
        await previous?.stop();
      },
    };
    return taken;
  }
});

test('reports each check as a metric, also those that change at run time', async () => {
  const metrics = createMetrics('test', { ofProcess: false });
  let checks: Checks = {
    database: () => Promise.resolve({ ok: true }),
    broker: () => Promise.reject(new Error('down')),
  };
  observeChecks(metrics, () => checks);
  const values = async () =>
    Object.fromEntries(
      [...(await metrics.render()).matchAll(/^opentill_health_check_bool\{check="(\w+)".*\} (\d)$/gm)].map(
        ([, check, value]) => [check, value],
      ),
    );
  expect(await values()).toEqual({ database: '1', broker: '0' });
  checks = { database: () => Promise.resolve({ ok: false }) };
  expect(await values()).toEqual({ database: '0' });
});

test('reports a stalled process on /livez only', async () => {
  const created = createHealthServer({
    port: 0,
    host: '127.0.0.1',
    metrics: createMetrics('test'),
    checks: {},
    liveness: () => ({ rounds: () => Promise.resolve({ ok: false, detail: 'no round ended' }) }),
  });
  server = created;
  const port = await created.start();
  const live = await fetch(`http://127.0.0.1:${port}/livez`);
  expect(live.status).toBe(503);
  expect(await live.json()).toEqual({
    status: 'stalled',
    checks: { rounds: { ok: false, detail: 'no round ended' } },
  });
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
});
