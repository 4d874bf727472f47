import { expect, test } from 'vitest';
import { errorCodeOf, OpentillError } from './opentill-error.ts';

test.each([
  [400, 'INVALID_REQUEST', false],
  [401, 'UNAUTHORIZED', false],
  [403, 'INVALID_REQUEST', false],
  [404, 'NOT_FOUND', false],
  [408, 'SERVER_FAULT', true],
  [409, 'CONFLICT', false],
  [417, 'INVALID_REQUEST', false],
  [422, 'UNPROCESSABLE', false],
  [429, 'RATE_LIMITED', true],
  [431, 'INVALID_REQUEST', false],
  [302, 'SERVER_FAULT', true],
  [500, 'SERVER_FAULT', true],
  [503, 'UNAVAILABLE', true],
] as const)('maps status %d to %s, temporary: %s', (httpStatus, code, isRetryable) => {
  expect(errorCodeOf(httpStatus)).toBe(code);
  expect(new OpentillError(code, '', { attempts: 1 }).isRetryable).toBe(isRetryable);
});
