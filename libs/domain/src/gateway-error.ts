/** Data of every failure in the gateway. One table maps it to an HTTP status, another to an acknowledgement. */
export interface GatewayErrorOptions {
  /** True if the same call may succeed later without a correction. */
  readonly retryable: boolean;
  /** Fields for the log; never secrets. */
  readonly context?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/**
 * The gateway's only error class. `code` is a stable SCREAMING_SNAKE_CASE word. Each module exports the union of its
 * codes with documentation per code, and passes it as `Code`.
 */
export class GatewayError<Code extends string = string> extends Error {
  override readonly name = 'GatewayError';
  readonly code: Code;
  readonly retryable: boolean;
  readonly context: Readonly<Record<string, unknown>>;

  constructor(code: Code, message: string, options: GatewayErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable;
    this.context = options.context ?? {};
  }
}

/** True for a retryable GatewayError and for any other error: a bug must not lose work. */
export function isRetryable(error: unknown): boolean {
  return error instanceof GatewayError ? error.retryable : true;
}
