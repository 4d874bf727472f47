import { GatewayError } from '@opentill/domain/gateway-error';

export interface CheckFailure {
  readonly code: string;
  readonly detail: string;
}

const LEAVES_OUT: ReadonlySet<string> = new Set(['WRONG_CHAIN', 'TOKEN_MISMATCH', 'CHAIN_NOT_REGISTERED']);

/** The failure that leaves a chain out; undefined for a temporary error, such as a node that is down. */
export function checkFailureOf(error: unknown): CheckFailure | undefined {
  return error instanceof GatewayError && LEAVES_OUT.has(error.code)
    ? { code: error.code, detail: error.message }
    : undefined;
}
