import { GatewayError } from '@opentill/domain/gateway-error';

/** Reasons why a WalletSender did not sign. No transaction was sent, and retrying does not help. */
export type SenderErrorCode =
  /** The signed bytes differ from the request, or another key signed them. Stop the signer and investigate. */
  | 'SIGNED_OTHERWISE'
  | 'WALLET_UNKNOWN'
  /** The intent or the terms must not be signed: a zero amount or receiver, prices above the cap. */
  | 'INTENT_INVALID';

export type SenderError = GatewayError<SenderErrorCode>;

/** `context` and `cause` must not contain keys. */
export function senderError(
  code: SenderErrorCode,
  message: string,
  context: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): SenderError {
  return new GatewayError(code, message, { retryable: false, context, cause });
}
