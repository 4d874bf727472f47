import { redact, redactText } from './redact.ts';
import { activeIds } from './tracing.ts';

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number] | 'silent';
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Logs an event name and fields, no sentences: `logger.info('transfer matched', { transferId, orderPk })`. An error is
 * a field: `{ error }`. error: an operator must act. warn: recovers by itself, but watch it. info: events of a payment,
 * start and stop. debug: the rest.
 */
export interface Logger {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  child(fields: LogFields): Logger;
}

let isDebugging = false;

/** All loggers of the process, except silent ones, also write debug lines while `on`. */
export function setDebugLogging(on: boolean): void {
  isDebugging = on;
}

export interface LoggerOptions {
  readonly service: string;
  readonly level: LogLevel;
  readonly stream?: NodeJS.WritableStream;
}

/**
 * One JSON object per line: time, level, service, message, then the redacted fields (redact.ts). Within a span (see
 * tracing.ts) also trace_id and span_id.
 */
export function createLogger(options: LoggerOptions): Logger {
  const stream = options.stream ?? process.stdout;
  const isEnabled = (level: Exclude<LogLevel, 'silent'>): boolean =>
    options.level !== 'silent' &&
    (isDebugging || LOG_LEVELS.indexOf(level) <= LOG_LEVELS.indexOf(options.level));

  function bind(bound: LogFields): Logger {
    const write = (level: Exclude<LogLevel, 'silent'>) => (message: string, fields?: LogFields) => {
      if (!isEnabled(level)) return;
      const line = JSON.stringify({
        ...(redact({ ...bound, ...fields }) as object),
        ...activeIds(),
        time: new Date().toISOString(),
        level,
        service: options.service,
        message: redactText(message),
      });
      stream.write(`${line}\n`);
    };
    return {
      error: write('error'),
      warn: write('warn'),
      info: write('info'),
      debug: write('debug'),
      child: (fields) => bind({ ...bound, ...fields }),
    };
  }
  return bind({});
}
