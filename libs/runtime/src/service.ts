import { GatewayError } from '@opentill/domain/gateway-error';
import { abortableDelay } from './abortable-delay.ts';
import { collectGarbage } from './collect-garbage.ts';
import { createDebugSwitch } from './debug-switch.ts';
import type { Logger } from './logger.ts';

/** `stop` ends the intake, finishes work in flight, and closes resources in reverse order. */
export interface RunningService {
  stop(): Promise<void>;
}

export interface ServiceOptions {
  readonly name: string;
  readonly logger: Logger;
  /**
   * `signal` aborts when the process must stop, also during start-up. `fail` reports an error after which the service
   * must not continue, such as a fork below the finalized height.
   */
  readonly start: (signal: AbortSignal, fail: (error: unknown) => void) => Promise<RunningService>;
  /** For stopping; the process then ends anyway. @default 10 000 */
  readonly stopTimeoutMs?: number;
}

const EXIT_CLEAN = 0;
/** The operator must act: a restart does not help. */
const EXIT_OPERATOR = 1;
/** EX_TEMPFAIL: a supervisor should restart the process. */
const EXIT_RETRY = 75;

export function exitCodeOf(error: unknown): number {
  return error instanceof GatewayError && !error.retryable ? EXIT_OPERATOR : EXIT_RETRY;
}

/**
 * Runs until SIGTERM or SIGINT. Exit codes: 0 stopped cleanly, 1 the operator must act, 75 restart. A second signal
 * ends the process at once. SIGUSR2 turns debug lines on, for 15 minutes, or off. An unhandled rejection ends it with
 * 75, since its state is unknown; so does a closed standard output: a gateway without logs must not keep running.
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
  process.on('SIGUSR2', createDebugSwitch({ logger }));
  // Without this listener the error is an uncaught exception, and logging that fails again.
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
      if (stopping.signal.aborted) return;
      logger.info('service started', { name });
      collectGarbage();
    },
    (error: unknown) => {
      if (!stopping.signal.aborted) fail(error);
    },
  );
  await end;
  const stopped = await stopWithin(options.stopTimeoutMs ?? 10_000, starting, logger, name);
  if (!stopped && exitCode === EXIT_CLEAN) exitCode = EXIT_RETRY;
  logger.info('service stopped', { name, exitCode });
  await new Promise(setImmediate); // lets the logger's stream flush its last line
  process.exit(exitCode);
}

async function stopWithin(
  timeoutMs: number,
  starting: Promise<RunningService>,
  logger: Logger,
  name: string,
): Promise<boolean> {
  const stop = async () => {
    const running = await starting.catch(() => undefined); // a failed start has closed what it opened
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
