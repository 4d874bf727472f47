import { expect, it } from 'vitest';
import { FAILURE_CODES, failureOfError, failureOfStatus } from './failure-codes.ts';

it.each([
  [200, undefined],
  [204, undefined],
  [299, undefined],
  [300, 'REDIRECT'],
  [302, 'REDIRECT'],
  [400, 'CLIENT_ERROR'],
  [401, 'CLIENT_ERROR'],
  [410, 'GONE'],
  [429, 'THROTTLED'],
  [499, 'CLIENT_ERROR'],
  [500, 'SERVER_ERROR'],
  [503, 'SERVER_ERROR'],
  [999, 'SERVER_ERROR'],
  [0, 'SERVER_ERROR'],
  [103, 'SERVER_ERROR'],
])('maps status %d to %s', (status, code) => {
  expect(failureOfStatus(status)).toBe(code);
});

it.each([
  ['ECONNREFUSED', 'CONNECTING', 'CONNECT_FAILED'],
  ['EHOSTUNREACH', 'CONNECTING', 'CONNECT_FAILED'],
  ['ECONNRESET', 'CONNECTING', 'CONNECT_FAILED'],
  ['ECONNRESET', 'WAITING', 'CONNECTION_LOST'],
  ['EPIPE', 'WAITING', 'CONNECTION_LOST'],
  [undefined, 'WAITING', 'CONNECTION_LOST'],
  ['HPE_HEADER_OVERFLOW', 'WAITING', 'BAD_ANSWER'],
  ['HPE_INVALID_CONSTANT', 'WAITING', 'BAD_ANSWER'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'CONNECTING', 'TLS_FAILED'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'CONNECTING', 'TLS_FAILED'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'CONNECTING', 'TLS_FAILED'],
  ['CERT_HAS_EXPIRED', 'CONNECTING', 'TLS_FAILED'],
  ['something new', 'CONNECTING', 'CONNECT_FAILED'],
] as const)('maps error %s while %s to %s, a known code', (error, phase, code) => {
  expect(failureOfError(error, phase)).toBe(code);
  expect(FAILURE_CODES).toContain(failureOfError(error, phase));
});
