/** Code and HTTP status. The message of the answer names the correction. */
export const OPS_ERRORS = {
  INPUT_INVALID: 400,
  BODY_INVALID: 400,
  /** `cursor` does not come from a page of this list. */
  CURSOR_INVALID: 400,
  /** No token, an unknown one, or one whose operator is disabled. */
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  /** Unknown path, or unknown object. */
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  EXISTS: 409,
  STATE_CONFLICT: 409,
  /** An operator may not change their own role or disable themselves. */
  OWN_ROLE: 409,
  BODY_TOO_LARGE: 413,
  MEDIA_TYPE_UNSUPPORTED: 415,
  /** Well-formed values that do not fit: an address of another chain, a signature of another text. */
  UNPROCESSABLE: 422,
  TOO_MANY_REQUESTS: 429,
  INTERNAL: 500,
  /** The database cannot be reached, or the maximum number of exports is running. */
  UNAVAILABLE: 503,
} as const satisfies Readonly<Record<string, number>>;

export type OpsErrorCode = keyof typeof OPS_ERRORS;
