/** What made an attempt fail: the label of a metric, and what `opentill webhook attempts` shows. */
export const FAILURE_CODES = [
  /** The callback URL is none, or has a scheme, port or part that is not allowed. */
  'URL_REFUSED',
  /** The host is, or resolves to, an address that callbacks must not reach. Nothing was sent. */
  'ADDRESS_FORBIDDEN',
  /** The name server says that there is no such host, or refuses. */
  'LOOKUP_FAILED',
  /** The name servers, which answer otherwise, did not for this name in time. */
  'LOOKUP_TIMEOUT',
  /** The connection was refused, or there is no way to the host. */
  'CONNECT_FAILED',
  /** The connection, its TLS handshake included, did not stand before the deadline. */
  'CONNECT_TIMEOUT',
  /** The TLS handshake failed: certificate, name or protocol. */
  'TLS_FAILED',
  /** The connection broke before an answer came. */
  'CONNECTION_LOST',
  /** No status came before the deadline. */
  'ANSWER_TIMEOUT',
  /** What came is not an HTTP answer, or one without end or measure. */
  'BAD_ANSWER',
  /** 3xx: redirects are not followed. */
  'REDIRECT',
  /** 410: the endpoint wants no callbacks any more. */
  'GONE',
  /** 429: too many. */
  'THROTTLED',
  /** Any other 4xx. */
  'CLIENT_ERROR',
  /** 5xx, and a status outside of HTTP. */
  'SERVER_ERROR',
] as const;

export type FailureCode = (typeof FAILURE_CODES)[number];

/**
 * What kept this process from making an attempt at all. None of it is the receiver's failure: the callback is handed back
 * and tried again after a pause, without end, and neither its schedule nor its endpoint hears of it. What bounds it is the
 * alarm: `opentill_webhook_own_faults_total`, and `opentill_webhook_oldest_due_seconds` behind it.
 */
export const OWN_FAULTS = [
  /** The sealed webhook secret can't be opened (another SECRETS_KEY sealed it), or the callback can't be built. */
  'NOT_BUILT',
  /** The name servers of this machine answer nothing. */
  'RESOLVER_DOWN',
  /** No more sockets or memory for them. */
  'NO_RESOURCES',
] as const;

export type OwnFault = (typeof OWN_FAULTS)[number];

export function isOwnFault(code: FailureCode | OwnFault): code is OwnFault {
  return (OWN_FAULTS as readonly string[]).includes(code);
}

/** What a status says, undefined for success: 2xx alone. */
export function failureOfStatus(statusCode: number): FailureCode | undefined {
  if (statusCode >= 200 && statusCode < 300) return undefined;
  if (statusCode === 410) return 'GONE';
  if (statusCode === 429) return 'THROTTLED';
  if (statusCode >= 300 && statusCode < 400) return 'REDIRECT';
  return statusCode >= 400 && statusCode < 500 ? 'CLIENT_ERROR' : 'SERVER_ERROR';
}

/** How far a request had come when it failed. */
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
/** Of a certificate, as OpenSSL names them; Node gives them as the error's code. */
const CERTIFICATE =
  /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|CRL_|INVALID_|HOSTNAME_MISMATCH|ERROR_IN_)/;

/** What an error of a request's socket or parser says. */
export function failureOfError(code: string | undefined, phase: RequestPhase): FailureCode | OwnFault {
  if (code !== undefined && RESOURCES.has(code)) return 'NO_RESOURCES';
  if (code?.startsWith('HPE_')) return 'BAD_ANSWER';
  if (code !== undefined && CERTIFICATE.test(code)) return 'TLS_FAILED';
  if (code !== undefined && UNREACHABLE.has(code)) return 'CONNECT_FAILED';
  return phase === 'CONNECTING' ? 'CONNECT_FAILED' : 'CONNECTION_LOST';
}
