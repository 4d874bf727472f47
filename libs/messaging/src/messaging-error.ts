import { GatewayError } from '@opentill/domain/gateway-error';

export type MessagingErrorCode =
  /** No open channel to the broker, or it was lost before the broker confirmed. */
  | 'BROKER_UNAVAILABLE'
  /** The broker does not know this user, or forbids what was asked: the operator must mend it. */
  | 'BROKER_REFUSED'
  /** The broker holds back publishers (memory or disk alarm). */
  | 'BROKER_BLOCKED'
  /** No confirm came in time; the messages may or may not be stored. */
  | 'PUBLISH_TIMEOUT'
  /** The broker confirmed, but no queue takes this routing key: the topology is not declared. */
  | 'PUBLISH_UNROUTABLE'
  /** The broker answered with a nack: a queue could not store the message. */
  | 'PUBLISH_REFUSED'
  /** A handler did not end in time. */
  | 'HANDLER_TIMEOUT'
  /** A message that is no envelope of the expected type. */
  | 'ENVELOPE_UNREADABLE'
  /** A declared queue does not work, or exists with other arguments. */
  | 'TOPOLOGY_BROKEN';

/** Every messaging error but BROKER_REFUSED, ENVELOPE_UNREADABLE and TOPOLOGY_BROKEN may be retried. */
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
