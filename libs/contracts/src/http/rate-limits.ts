export interface RateLimit {
  readonly requests: number;
  readonly seconds: number;
}

/** `link`: all operations on payment links together. */
export type LimitedEndpoint =
  'createCollection' | 'createPayout' | 'link' | 'status' | 'pay' | 'getOrderStatus' | 'supportSymbols';

/** Content of a merchant's `rate_limits` column; defaults apply to endpoints that it does not name. */
export type RateLimitOverrides = { readonly [E in LimitedEndpoint]?: RateLimit };

/** Defaults; docs/api.md section 7. */
export const DEFAULT_RATE_LIMITS: { readonly [E in LimitedEndpoint]: RateLimit } = {
  createCollection: { requests: 100, seconds: 10 },
  createPayout: { requests: 100, seconds: 10 },
  link: { requests: 100, seconds: 10 },
  status: { requests: 1000, seconds: 10 },
  pay: { requests: 2, seconds: 1 },
  getOrderStatus: { requests: 2, seconds: 1 },
  supportSymbols: { requests: 50, seconds: 10 },
};

const rateLimitSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['requests', 'seconds'],
  properties: {
    requests: { type: 'integer', minimum: 1, maximum: 1_000_000 },
    seconds: { type: 'integer', minimum: 1, maximum: 3600 },
  },
};

export const RATE_LIMIT_OVERRIDES_SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(Object.keys(DEFAULT_RATE_LIMITS).map((name) => [name, rateLimitSchema])),
};

/** Ignores invalid entries, so that an operator's typing error does not block the merchant. */
export function readRateLimitOverrides(value: unknown): RateLimitOverrides {
  if (typeof value !== 'object' || value === null) return {};
  const read: { [E in LimitedEndpoint]?: RateLimit } = {};
  for (const endpoint of Object.keys(DEFAULT_RATE_LIMITS) as LimitedEndpoint[]) {
    const limit: unknown = Object.hasOwn(value, endpoint)
      ? (value as Record<string, unknown>)[endpoint]
      : undefined;
    if (isRateLimit(limit)) read[endpoint] = { requests: limit.requests, seconds: limit.seconds };
  }
  return read;
}

function isRateLimit(value: unknown): value is RateLimit {
  if (typeof value !== 'object' || value === null) return false;
  const { requests, seconds } = value as Partial<RateLimit>;
  const { minimum, maximum } = rateLimitSchema.properties.requests;
  const bounds = rateLimitSchema.properties.seconds;
  return (
    Number.isSafeInteger(requests) &&
    Number.isSafeInteger(seconds) &&
    Number(requests) >= minimum &&
    Number(requests) <= maximum &&
    Number(seconds) >= bounds.minimum &&
    Number(seconds) <= bounds.maximum
  );
}
