import type { Environment } from './config.ts';
import { createHealthServer, type Checks } from './health.ts';
import { createLogger } from './logger.ts';
import type { RenderedMetrics } from './metrics.ts';
import { runService, type RunningService } from './service.ts';

/** A service that runs, but for its health server: services that share a process share that as well. */
export interface ComposedService extends RunningService {
  /** What its readiness means. */
  readonly checks: Checks | (() => Checks);
  readonly metrics: RenderedMetrics;
  /** Where its health is asked for when it runs alone. */
  readonly health: { readonly port: number; readonly host: string };
}

export interface CompositionContext {
  /** For an error after which the process must not go on: it stops everything in order, and ends. */
  readonly fail: (error: unknown) => void;
  /** Whether other services run in this process too: then its memory and event loop are none of its metrics. */
  readonly sharesProcess: boolean;
}

/**
 * A service's composition root but for the process: reads its settings from `env`, opens what it needs, and starts.
 * When it throws, it has closed what it opened.
 */
export type Compose = (env: Environment, context: CompositionContext) => Promise<ComposedService>;

/** Takes what closes something that was opened. */
export type OnStop = (close: () => Promise<void>) => void;

/**
 * The skeleton of a composition: what `open` hands over is closed when the service stops, the last opened first. When it
 * throws, what it had opened until then is closed.
 */
export async function openInTurn(
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

/** Runs a composition as a process of its own, with its health at a port: all that a main.ts does. See runService. */
export async function runAlone(name: string, compose: Compose, env: Environment): Promise<void> {
  await runService({
    name,
    logger: createLogger({ service: name, level: 'info' }),
    start: async (_signal, fail) => withHealth(await compose(env, { fail, sharesProcess: false })),
  });
}

/** From the first moment of stopping its health says so, and goes on answering to the end. */
async function withHealth(service: ComposedService): Promise<RunningService> {
  const { health: address, metrics, checks } = service;
  const health = createHealthServer({ ...address, metrics, checks });
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
