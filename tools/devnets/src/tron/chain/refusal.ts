import { GatewayError } from '@opentill/domain/gateway-error';

/** Response codes of a broadcast that this node uses (api.proto, Return.response_code). */
export type RefusalCode =
  | 'SIGERROR'
  | 'CONTRACT_VALIDATE_ERROR'
  | 'CONTRACT_EXE_ERROR'
  /** java-tron's spelling. */
  | 'BANDWITH_ERROR'
  | 'DUP_TRANSACTION_ERROR'
  | 'TAPOS_ERROR'
  | 'TOO_BIG_TRANSACTION_ERROR'
  | 'TRANSACTION_EXPIRATION_ERROR'
  | 'SERVER_BUSY'
  | 'OTHER_ERROR';

export function refuse(code: RefusalCode, message: string): never {
  throw new GatewayError<RefusalCode>(code, message, { retryable: false });
}

export function invalid(message: string): never {
  return refuse('CONTRACT_VALIDATE_ERROR', `Contract validate error : ${message}`);
}

export function isRefusal(error: unknown): error is GatewayError<RefusalCode> {
  return error instanceof GatewayError;
}
