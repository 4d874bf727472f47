/** Metric labels, also shown by `opentill webhook attempts`. */
export const FAILURE_CODES = [
  'URL_REFUSED',
  /** The host is or resolves to a forbidden address. The callback was not sent. */
  'ADDRESS_FORBIDDEN',
  /** The name server reports that the host does not exist, or refuses the query. */
  'LOOKUP_FAILED',
  'LOOKUP_TIMEOUT',
  /** The connection was refused, or there is no route to the host. */
  'CONNECT_FAILED',
  'CONNECT_TIMEOUT',
  /** Certificate, name or protocol. */
  'TLS_FAILED',
  'CONNECTION_LOST',
  'ANSWER_TIMEOUT',
  /** Not an HTTP response, or one without a bounded length. */
  'BAD_ANSWER',
  /** 3xx: redirects are not followed. */
  'REDIRECT',
  'GONE',
  'THROTTLED',
  'CLIENT_ERROR',
  /** 5xx, and statuses that HTTP does not define. */
  'SERVER_ERROR',
] as const;

export type FailureCode = (typeof FAILURE_CODES)[number];

/**
 * The callback is released and tried again after a pause, without limit. Its schedule and its endpoint's breaker are
 * unchanged. The metrics `opentill_webhook_own_faults_total` and `opentill_webhook_oldest_due_seconds` raise an alarm.
 */
export const OWN_FAULTS = [
  /** The webhook secret was sealed with another SECRETS_KEY, or the callback cannot be built. */
  'NOT_BUILT',
  'RESOLVER_DOWN',
  /** No more sockets, or no memory for them. */
  'NO_RESOURCES',
] as const;

export type OwnFault = (typeof OWN_FAULTS)[number];

export function isOwnFault(code: FailureCode | OwnFault): code is OwnFault {
  return (OWN_FAULTS as readonly string[]).includes(code);
}

export function failureOfStatus(statusCode: number): FailureCode | undefined {
  if (statusCode >= 200 && statusCode < 300) return undefined;
  if (statusCode === 410) return 'GONE';
  if (statusCode === 429) return 'THROTTLED';
  if (statusCode >= 300 && statusCode < 400) return 'REDIRECT';
  return statusCode >= 400 && statusCode < 500 ? 'CLIENT_ERROR' : 'SERVER_ERROR';
}

export type RequestPhase = 'CONNECTING' | 'WAITING';

const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'ETIMEDOUT',
  'EACCES',
  'EPERM',
]);
const RESOURCES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);
/** OpenSSL names of certificate errors, which Node uses as error codes. */
const CERTIFICATE =
  /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|CRL_|INVALID_|HOSTNAME_MISMATCH|ERROR_IN_)/;

export function failureOfError(code: string | undefined, phase: RequestPhase): FailureCode | OwnFault {
  if (code !== undefined && RESOURCES.has(code)) return 'NO_RESOURCES';
  if (code?.startsWith('HPE_')) return 'BAD_ANSWER';
  if (code !== undefined && CERTIFICATE.test(code)) return 'TLS_FAILED';
  if (code !== undefined && UNREACHABLE.has(code)) return 'CONNECT_FAILED';
  return phase === 'CONNECTING' ? 'CONNECT_FAILED' : 'CONNECTION_LOST';
}
