import { GatewayError } from '@opentill/domain/gateway-error';
import type { Clock } from '@opentill/runtime/clock';

/** Access to the world: everything that differs between a terminal, a script and a test. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Writes one line to standard output. */
  readonly print: (line: string) => void;
  /** Writes one line to standard error. */
  readonly printError: (line: string) => void;
  /** Asks on the terminal without echo. Rejects with NO_TERMINAL if there is none. */
  readonly askSecret: (question: string) => Promise<string>;
}

export type CliErrorCode =
  /** A required variable or option is missing or wrong; the message names it. */
  | 'CLI_USAGE'
  /** A secret has to be typed, but there is no terminal. */
  | 'NO_TERMINAL'
  /** The wallet is restored, but some balances could not be determined; the message names them. */
  | 'RECOVERY_INCOMPLETE'
  /** The ops service does not answer; the message names its address. */
  | 'OPS_UNREACHABLE'
  | 'NOT_FOUND'
  /** `doctor` found a problem; its report names it. */
  | 'DOCTOR_FAILED'
  /** Ledger and chain differ; the report of `reconcile` names the differences. */
  | 'BOOKS_DIFFER'
  /** A chain was not comparable: its scanner is behind the final block, or money kept moving. Try again. */
  | 'CHAIN_NOT_AT_REST'
  /** Coin for fees was booked between its measurement and its booking. Measure again. */
  | 'GAS_BOOKED_MEANWHILE'
  /** No scanner answered in time. The request stays queued. */
  | 'NO_ANSWER_YET';

/** An error for the operator; not retryable unless `options` set it. */
export function cliError(
  code: CliErrorCode,
  message: string,
  options: { readonly retryable?: boolean; readonly cause?: unknown } = {},
): GatewayError<CliErrorCode> {
  return new GatewayError(code, message, { retryable: false, ...options });
}

export function usage(message: string): GatewayError<CliErrorCode> {
  return cliError('CLI_USAGE', message);
}

export function notFound(message: string): GatewayError<CliErrorCode> {
  return cliError('NOT_FOUND', message);
}
