import { GatewayError } from '@opentill/domain/gateway-error';
import { abortableDelay } from './abortable-delay.ts';
import type { Logger } from './logger.ts';

/** What a running service hands back: stop intake, finish what is in flight, close what it opened in reverse. */
export interface RunningService {
  stop(): Promise<void>;
}

export interface ServiceOptions {
  readonly name: string;
  readonly logger: Logger;
  /**
   * Opens everything. `signal` aborts when the process is told to stop, also while starting. `fail` is for an error
   * after which the service must not go on (a fork below the finalized height, say): it stops in order.
   */
  readonly start: (signal: AbortSignal, fail: (error: unknown) => void) => Promise<RunningService>;
  /** How long stopping may take before the process ends anyway. @default 10 000 */
  readonly stopTimeoutMs?: number;
}

const EXIT_CLEAN = 0;
/** The operator must mend something: starting again will not help. */
const EXIT_OPERATOR = 1;
/** EX_TEMPFAIL: a supervisor should start the process again. */
const EXIT_RETRY = 75;

/** Exit code for an error that ends the process: 1 for a GatewayError that is not retryable, else 75. */
export function exitCodeOf(error: unknown): number {
  return error instanceof GatewayError && !error.retryable ? EXIT_OPERATOR : EXIT_RETRY;
}

/**
 * Runs a service until SIGTERM or SIGINT, then stops it and ends the process: 0 stopped cleanly, 1 the operator must
 * mend something, 75 start again. A second signal ends it at once. An unhandled rejection or uncaught exception is
 * logged and ends the service with 75, since its state is unknown. So does a standard output that nobody reads any more:
 * a gateway that can tell nobody what it does is started again where it can. Never returns control with the process running on.
 */
export async function runService(options: ServiceOptions): Promise<void> {
  const { logger, name } = options;
  const stopping = new AbortController();
  let exitCode = EXIT_CLEAN;
  let resolveEnd: () => void = () => undefined;
  const end = new Promise<void>((resolve) => (resolveEnd = resolve));

  const stopWith = (code: number) => {
    if (stopping.signal.aborted) {
      exitCode = exitCode === EXIT_CLEAN ? code : exitCode;
      return;
    }
    exitCode = code;
    stopping.abort();
    resolveEnd();
  };
  const fail = (error: unknown) => {
    logger.error('service failed', { name, error });
    stopWith(exitCodeOf(error));
  };
  const onSignal = (signalName: string) => {
    if (stopping.signal.aborted) {
      logger.warn('service ended by a second signal', { name, signal: signalName });
      process.exit(EXIT_RETRY);
    }
    logger.info('service stopping', { name, signal: signalName });
    stopWith(EXIT_CLEAN);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  // Unheard, this error would be an uncaught exception, whose log line would be the next one.
  process.stdout.on('error', () => stopWith(EXIT_RETRY));
  process.on('uncaughtException', (error, origin) => {
    logger.error('uncaught', { name, origin, error });
    stopWith(EXIT_RETRY);
  });
  process.on('unhandledRejection', (error) => {
    logger.error('uncaught', { name, origin: 'unhandledRejection', error });
    stopWith(EXIT_RETRY);
  });

  const starting = options.start(stopping.signal, fail);
  starting.then(
    () => {
      if (!stopping.signal.aborted) logger.info('service started', { name });
    },
    (error: unknown) => {
      if (!stopping.signal.aborted) fail(error);
    },
  );
  await end;
  const stopped = await stopWithin(options.stopTimeoutMs ?? 10_000, starting, logger, name);
  if (!stopped && exitCode === EXIT_CLEAN) exitCode = EXIT_RETRY;
  logger.info('service stopped', { name, exitCode });
  await new Promise(setImmediate); // lets the logger's stream pass its last line on
  process.exit(exitCode);
}

/** True when the service (also one that is still starting) stopped in time and without an error. */
async function stopWithin(
  timeoutMs: number,
  starting: Promise<RunningService>,
  logger: Logger,
  name: string,
): Promise<boolean> {
  const stop = async () => {
    const running = await starting.catch(() => undefined); // a failed start has released what it took
    await running?.stop();
    return 'stopped' as const;
  };
  try {
    const outcome = await Promise.race([stop(), abortableDelay(timeoutMs)]);
    if (outcome !== 'stopped') logger.error('service did not stop in time', { name, timeoutMs });
    return outcome === 'stopped';
  } catch (error) {
    logger.error('service failed to stop', { name, error });
    return false;
  }
}
