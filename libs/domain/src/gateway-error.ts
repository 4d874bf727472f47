/** What every failure in the gateway carries, so that one table can map it to an HTTP status and one to an ack. */
export interface GatewayErrorOptions {
  /** Whether the same call may succeed later without anybody mending anything. */
  readonly retryable: boolean;
  /** Fields for the log; never secrets. */
  readonly context?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/**
 * The gateway's only error class. `code` is a stable SCREAMING_SNAKE_CASE word; each module exports the union
 * of its codes with a line of documentation per code, and passes it as `Code`.
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

/** True for a GatewayError that may be retried; anything unknown counts as retryable (a bug must not lose work). */
export function isRetryable(error: unknown): boolean {
  return error instanceof GatewayError ? error.retryable : true;
}
