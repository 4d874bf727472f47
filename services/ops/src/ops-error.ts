import type { OpsErrorCode } from '@opentill/contracts/ops/errors';
import { GatewayError } from '@opentill/domain/gateway-error';

/** One sentence with the correction. Never contains a secret. */
export function opsError(code: OpsErrorCode, message: string): GatewayError<OpsErrorCode> {
  return new GatewayError(code, message, { retryable: false });
}

export function notFound(what: string): GatewayError<OpsErrorCode> {
  return opsError('NOT_FOUND', `There is no ${what}.`);
}
