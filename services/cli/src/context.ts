import { GatewayError } from '@opentill/domain/gateway-error';
import type { Clock } from '@opentill/runtime/clock';

/** What a command may touch: everything that differs between a terminal, a script and a test. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Writes one line of the answer. */
  readonly print: (line: string) => void;
  /** Writes one line about what went wrong. */
  readonly printError: (line: string) => void;
  /** Asks on the terminal without echo; rejects with NO_TERMINAL when there is none. */
  readonly askSecret: (question: string) => Promise<string>;
}

export type CliErrorCode =
  /** A needed environment variable or option is missing or wrong; the message says which. */
  | 'CLI_USAGE'
  /** A secret was to be asked for, but there is no terminal. */
  | 'NO_TERMINAL'
  /** The wallet is restored, but of some money it is not known whether it is there; the message says of which. */
  | 'RECOVERY_INCOMPLETE'
  /** The ops service is not there; the message says at which address. */
  | 'OPS_UNREACHABLE'
  /** What was asked about does not exist. */
  | 'NOT_FOUND'
  /** `doctor` found something that must be mended; its report says what. */
  | 'DOCTOR_FAILED'
  /** `reconcile` found that ledger and chain differ; its report names how. */
  | 'BOOKS_DIFFER'
  /** A chain could not be compared: its scanner is behind what the chain calls final, or money moved all the time; to be tried again. */
  | 'CHAIN_NOT_AT_REST'
  /** Between measuring coin for fees and booking it somebody booked some; to be measured again. */
  | 'GAS_BOOKED_MEANWHILE'
  /** No scanner answered in time; the request stays and is answered when one runs. */
  | 'NO_ANSWER_YET';

/** An error that the operator sees; not retryable unless `options` say so. */
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
