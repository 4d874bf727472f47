import { GatewayError } from '@opentill/domain/gateway-error';

/** How a node's API refuses: names of gRPC status codes. */
export type RefusalCode =
  /** The request or the transaction can't be right. */
  | 'INVALID_ARGUMENT'
  /** Not known here: never was, not yet, or pruned. */
  | 'NOT_FOUND'
  /** The transaction contends with another one. */
  | 'FAILED_PRECONDITION'
  | 'OUT_OF_RANGE'
  | 'RESOURCE_EXHAUSTED'
  | 'UNAVAILABLE'
  | 'DEADLINE_EXCEEDED'
  | 'UNIMPLEMENTED'
  | 'INTERNAL';

/** Ends a request with the code and the words of a full node. */
export function refuse(code: RefusalCode, message: string): never {
  throw new GatewayError<RefusalCode>(code, message, { retryable: false });
}

/** A transaction that no validator would take (UserInputError). */
export function invalidInput(message: string): never {
  return refuse('INVALID_ARGUMENT', `Error checking transaction input objects: ${message}`);
}

export function isRefusal(error: unknown): error is GatewayError<RefusalCode> {
  return error instanceof GatewayError;
}
