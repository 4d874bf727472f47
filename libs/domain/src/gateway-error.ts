/** One table maps these data to an HTTP status, another to an acknowledgement. */
export interface GatewayErrorOptions {
  readonly retryable: boolean;
  /** Fields for the log; never secrets. */
  readonly context?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** The gateway's only error class. Each module exports the documented union of its codes and passes it as `Code`. */
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

/** An error of another class is retryable: a bug must not lose work. */
export function isRetryable(error: unknown): boolean {
  return error instanceof GatewayError ? error.retryable : true;
}
