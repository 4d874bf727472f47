import type { Environment } from './config.ts';
import { createHealthServer, observeChecks, type Checks } from './health.ts';
import { createLogger } from './logger.ts';
import { mapStackTraces } from './map-stack-traces.ts';
import { createMetrics, joinMetrics, type RenderedMetrics } from './metrics.ts';
import { runService, type RunningService } from './service.ts';

/** The services of one process share a health server, so this is none. */
export interface ComposedService extends RunningService {
  readonly checks: Checks | (() => Checks);
  /** A process that fails one of these should be restarted. @default none */
  readonly liveness?: Checks | (() => Checks);
  readonly metrics: RenderedMetrics;
  readonly health: { readonly port: number; readonly host: string };
}

export interface CompositionContext {
  /** The process must not continue: stops everything in order and ends. */
  readonly fail: (error: unknown) => void;
  /** Other services run in the process: memory and event loop are then not part of its metrics. */
  readonly sharesProcess: boolean;
}

/** A service's composition root without the process. When it throws, it has closed what it opened. */
export type Compose = (env: Environment, context: CompositionContext) => Promise<ComposedService>;

export type OnStop = (close: () => Promise<void>) => void;

/** `stop` closes the registered resources in reverse order. When `open` throws, those already opened are closed. */
export async function openResources(
  open: (onStop: OnStop) => Promise<Omit<ComposedService, 'stop'>>,
): Promise<ComposedService> {
  const opened: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const close of opened.splice(0).toReversed()) await close();
  };
  try {
    return { ...(await open((close) => void opened.push(close))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Its own process with a health server, for main.ts. See runService. */
export async function runProcess(name: string, compose: Compose, env: Environment): Promise<void> {
  mapStackTraces();
  await runService({
    name,
    logger: createLogger({ service: name, level: 'info' }),
    start: async (_signal, fail) => withHealth(name, await compose(env, { fail, sharesProcess: false })),
  });
}

/** Reports "stopping" as soon as the stop begins, and answers until it ends. */
async function withHealth(name: string, service: ComposedService): Promise<RunningService> {
  const { health: address, checks, liveness } = service;
  const ofChecks = createMetrics(name, { ofProcess: false });
  observeChecks(ofChecks, checks);
  const health = createHealthServer({
    ...address,
    metrics: joinMetrics([service.metrics, ofChecks]),
    checks,
    ...(liveness && { liveness }),
  });
  try {
    await health.start();
  } catch (error) {
    await service.stop();
    throw error;
  }
  return {
    async stop() {
      health.drain();
      try {
        await service.stop();
      } finally {
        await health.stop();
      }
    },
  };
}
