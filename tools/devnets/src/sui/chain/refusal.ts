import { GatewayError } from '@opentill/domain/gateway-error';

export type RefusalCode =
  | 'INVALID_ARGUMENT'
  /** Unknown: never existed, does not exist yet, or was pruned. */
  | 'NOT_FOUND'
  | 'FAILED_PRECONDITION'
  | 'OUT_OF_RANGE'
  | 'RESOURCE_EXHAUSTED'
  | 'UNAVAILABLE'
  | 'DEADLINE_EXCEEDED'
  | 'UNIMPLEMENTED'
  | 'INTERNAL';

export function refuse(code: RefusalCode, message: string): never {
  throw new GatewayError<RefusalCode>(code, message, { retryable: false });
}

/** Rejects a transaction that validators consider invalid (UserInputError). */
export function invalidInput(message: string): never {
  return refuse('INVALID_ARGUMENT', `Error checking transaction input objects: ${message}`);
}

export function isRefusal(error: unknown): error is GatewayError<RefusalCode> {
  return error instanceof GatewayError;
}
