import type { OpsErrorCode } from '@opentill/contracts/ops/errors';
import { GatewayError } from '@opentill/domain/gateway-error';

/** A refusal: what the operator has to mend, in a sentence. Never holds a secret. */
export function refuse(code: OpsErrorCode, message: string): GatewayError<OpsErrorCode> {
  return new GatewayError(code, message, { retryable: false });
}

/** Nothing of this name. */
export function notFound(what: string): GatewayError<OpsErrorCode> {
  return refuse('NOT_FOUND', `There is no ${what}.`);
}
