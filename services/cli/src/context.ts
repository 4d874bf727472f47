import { GatewayError } from '@opentill/domain/gateway-error';
import type { Clock } from '@opentill/runtime/clock';

/** Everything that differs between a terminal, a script and a test. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly print: (line: string) => void;
  readonly printError: (line: string) => void;
  /** Does not echo. Rejects with NO_TERMINAL if there is none. */
  readonly askSecret: (question: string) => Promise<string>;
  /** Scrypt's N of keystores. Only tests set it. @default 2^17 */
  readonly keystoreCost?: number;
}

export type CliErrorCode =
  | 'CLI_USAGE'
  | 'NO_TERMINAL'
  /** The wallet is restored, but some balances could not be determined; the message names them. */
  | 'RECOVERY_INCOMPLETE'
  | 'OPS_UNREACHABLE'
  /** The merchant API refused the call, or was not reached. */
  | 'MERCHANT_API'
  | 'NOT_FOUND'
  | 'DOCTOR_FAILED'
  | 'BOOKS_DIFFER'
  /** Its scanner is behind the final block, or money kept moving. Try again. */
  | 'CHAIN_NOT_AT_REST'
  /** Coin for fees was booked between measurement and booking. Measure again. */
  | 'GAS_BOOKED_MEANWHILE'
  /** No scanner answered in time. The request stays queued. */
  | 'NO_ANSWER_YET';

/** Not retryable unless `options` set it. */
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
