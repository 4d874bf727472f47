import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { withDeadline } from './deadline.ts';
import type { Metrics, RenderedMetrics } from './metrics.ts';

export interface CheckResult {
  readonly ok: boolean;
  /** For operators. No secrets. */
  readonly detail?: string;
}
export type Checks = Readonly<Record<string, () => Promise<CheckResult>>>;

export interface HealthServerOptions {
  readonly port: number;
  readonly host: string;
  readonly metrics: RenderedMetrics;
  /** A function if the checks change at run time. */
  readonly checks: Checks | (() => Checks);
  /** A process that fails one of these should be restarted. @default none */
  readonly liveness?: Checks | (() => Checks);
  /** A slower check fails. @default 2000 */
  readonly checkTimeoutMs?: number;
}

export interface HealthServer {
  start(): Promise<number>;
  /** The service is stopping: from now on /readyz answers 503. */
  drain(): void;
  stop(): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** /livez and /readyz: 200 when every check of theirs passes, else 503. Only for operators. */
export function createHealthServer(options: HealthServerOptions): HealthServer {
  let draining = false;

  async function answer(path: string): Promise<Answer> {
    switch (path) {
      case '/livez':
        return liveness(options);
      case '/readyz':
        return readiness(options, draining);
      case '/metrics':
        return { status: 200, type: options.metrics.contentType, body: await options.metrics.render() };
      default:
        return json(404, { status: 'not found' });
    }
  }

  const server = createServer((request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      send(request, response, json(405, { status: 'method not allowed' }));
      return;
    }
    answer((request.url ?? '/').split('?', 1)[0] ?? '/').then(
      (result) => send(request, response, result),
      () => send(request, response, json(500, { status: 'error' })),
    );
  });
  server.headersTimeout = 5_000;
  server.requestTimeout = 5_000;

  return {
    start: () =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(options.port, options.host, () => {
          server.off('error', reject);
          resolve((server.address() as AddressInfo).port);
        });
      }),
    drain() {
      draining = true;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function liveness({ liveness: checks, checkTimeoutMs }: HealthServerOptions): Promise<Answer> {
  if (checks === undefined) return json(200, { status: 'alive' });
  const results = await runChecks(checks, checkTimeoutMs);
  const alive = isPassed(results);
  return json(alive ? 200 : 503, {
    status: alive ? 'alive' : 'stalled',
    checks: Object.fromEntries(results),
  });
}

async function readiness(options: HealthServerOptions, draining: boolean): Promise<Answer> {
  const results = await runChecks(options.checks, options.checkTimeoutMs);
  const ready = !draining && isPassed(results);
  return json(ready ? 200 : 503, {
    status: draining ? 'stopping' : ready ? 'ready' : 'not ready',
    checks: Object.fromEntries(results),
  });
}

type Results = readonly (readonly [name: string, result: CheckResult])[];

const isPassed = (results: Results) => results.every(([, { ok }]) => ok);

const CHECK_TIMEOUT_MS = 2_000;

function runChecks(given: Checks | (() => Checks), timeoutMs = CHECK_TIMEOUT_MS): Promise<Results> {
  const checks = typeof given === 'function' ? given() : given;
  return Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await runCheck(check, timeoutMs)] as const),
  );
}

/** The checks of /readyz as a metric, so that alerts need no second prober. */
export function observeChecks(metrics: Metrics, checks: HealthServerOptions['checks']): void {
  metrics.gauge({
    name: 'opentill_health_check_bool',
    help: '1 while the check of /readyz passes',
    labelNames: ['check'],
    async collect(gauge) {
      const results = await runChecks(checks);
      gauge.reset();
      for (const [check, { ok }] of results) gauge.set({ check }, ok ? 1 : 0);
    },
  });
}

async function runCheck(check: () => Promise<CheckResult>, timeoutMs: number): Promise<CheckResult> {
  try {
    return await withDeadline(timeoutMs, check, () => new Error(`no answer within ${timeoutMs} ms`));
  } catch (error) {
    return { ok: false, detail: error instanceof Error ? error.message : 'failed' };
  }
}

function json(status: number, body: unknown): Answer {
  return { status, type: 'application/json', body: JSON.stringify(body) };
}

function send(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  response.writeHead(answer.status, {
    'content-type': answer.type,
    'content-length': Buffer.byteLength(answer.body),
    'cache-control': 'no-store',
  });
  response.end(request.method === 'HEAD' ? undefined : answer.body);
}
