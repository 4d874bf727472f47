import { GatewayError } from '@opentill/domain/gateway-error';

export type MessagingErrorCode =
  /** No open channel to the broker, or it was lost before the broker confirmed. */
  | 'BROKER_UNAVAILABLE'
  /** Unknown user or denied operation: the operator must correct the user or its permissions. */
  | 'BROKER_REFUSED'
  /** A memory or disk alarm blocks publishers. */
  | 'BROKER_BLOCKED'
  /** No confirm in time. The messages may be stored or not. */
  | 'PUBLISH_TIMEOUT'
  /** Confirmed, but no queue takes this routing key: the topology is not declared. */
  | 'PUBLISH_UNROUTABLE'
  /** A nack: a queue could not store the message. */
  | 'PUBLISH_REFUSED'
  | 'HANDLER_TIMEOUT'
  /** Not an envelope of the expected type. */
  | 'ENVELOPE_UNREADABLE'
  /** A declared queue does not work, or exists with other arguments. */
  | 'TOPOLOGY_BROKEN';

/** Retryable except BROKER_REFUSED, ENVELOPE_UNREADABLE and TOPOLOGY_BROKEN. */
export function messagingError(
  code: MessagingErrorCode,
  message: string,
  context: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): GatewayError<MessagingErrorCode> {
  const permanent: readonly MessagingErrorCode[] = [
    'BROKER_REFUSED',
    'ENVELOPE_UNREADABLE',
    'TOPOLOGY_BROKEN',
  ];
  return new GatewayError(code, message, { retryable: !permanent.includes(code), context, cause });
}
