import { GatewayError } from '@opentill/domain/gateway-error';

/** The response codes of broadcasting (api.proto, Return.response_code) that this node gives. */
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

/** Ends the processing of a transaction with the code and the words of java-tron. */
export function refuse(code: RefusalCode, message: string): never {
  throw new GatewayError<RefusalCode>(code, message, { retryable: false });
}

/** A contract that is not as its actuator's validation wants it. */
export function invalid(message: string): never {
  return refuse('CONTRACT_VALIDATE_ERROR', `Contract validate error : ${message}`);
}

export function isRefusal(error: unknown): error is GatewayError<RefusalCode> {
  return error instanceof GatewayError;
}
