import { GatewayError } from '@opentill/domain/gateway-error';

/** Why a WalletSender has not signed. Nothing was sent, and none of them passes by itself. */
export type SenderErrorCode =
  /** What came out of signing is not what was asked for, or not by the wallet's key. Stop the signer and look. */
  | 'SIGNED_OTHERWISE'
  /** The signer has no key of this wallet. */
  | 'WALLET_UNKNOWN'
  /** The intent or the terms are not ones that may be signed: a zero amount or receiver, prices above the cap. */
  | 'INTENT_INVALID';

export type SenderError = GatewayError<SenderErrorCode>;

/** Makes a sender's error. `context` and `cause` must not hold keys. */
export function senderError(
  code: SenderErrorCode,
  message: string,
  context: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): SenderError {
  return new GatewayError(code, message, { retryable: false, context, cause });
}
