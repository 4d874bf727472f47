/** Every refusal of the ops API with its HTTP status. What is to be mended stands in the answer's sentence. */
export const OPS_ERRORS = {
  /** A parameter or a member of the body is missing, unknown or not as its schema says. */
  INPUT_INVALID: 400,
  /** The body is not JSON, not an object, or not readable. */
  BODY_INVALID: 400,
  /** `cursor` is not one that a page of this list gave. */
  CURSOR_INVALID: 400,
  /** No token, an unknown one, or one whose operator is disabled. */
  UNAUTHENTICATED: 401,
  /** The operator's role may not do this. */
  FORBIDDEN: 403,
  /** No such path, or nothing of this name. */
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  /** Something of this name exists already. */
  EXISTS: 409,
  /** The thing is not (any more) in a state in which this can be done. */
  STATE_CONFLICT: 409,
  /** An operator may not change his own role, or disable himself. */
  OWN_ROLE: 409,
  BODY_TOO_LARGE: 413,
  MEDIA_TYPE_UNSUPPORTED: 415,
  /** The values are well-formed and can't be: another chain's address, a signature of something else. */
  UNPROCESSABLE: 422,
  TOO_MANY_REQUESTS: 429,
  INTERNAL: 500,
  /** The database can't be reached, or all places for exports are taken. */
  UNAVAILABLE: 503,
} as const satisfies Readonly<Record<string, number>>;

export type OpsErrorCode = keyof typeof OPS_ERRORS;
