import {
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRes,
  type RateLimiterAbstract,
} from 'rate-limiter-flexible';
import type { RateLimit } from '@opentill/contracts/http/rate-limits';
import type { Database } from '@opentill/db/database';
import { translateDatabaseError } from '@opentill/db/database-error';
import { createRecentRequests, createSharedRecentRequests } from './recent-requests.ts';

/** Who or what a request is counted by; one counter per kind, endpoint and key. */
export type LimitKind =
  | `ip:${'createCollection' | 'createPayout' | 'status' | 'supportSymbols'}`
  | `merchant:${'createCollection' | 'createPayout'}`
  | `order:${'pay' | 'getOrderStatus' | 'checkout' | 'events'}`
  | 'refused'
  | ProcessLimitKind;

/** Limits that protect the processor of this process: counted in its memory, whatever the store. */
export type ProcessLimitKind = `address:${'order' | 'unnamed'}`;

export interface RateLimits {
  /**
   * Counts one request. 0: within the limit; else the seconds until the window ends.
   * @throws GatewayError DATABASE_UNAVAILABLE when the shared store is not reachable
   */
  take(kind: LimitKind, key: string, limit: RateLimit): Promise<number>;
  /** As `take`, without counting. */
  peek(kind: ProcessLimitKind, key: string, limit: RateLimit): Promise<number>;
}

/**
 * Orders whose checkout one client address may poll at the full rate of each: many customers behind one address, or a
 * shop's server. It is counted before the signature.
 */
export const ORDERS_PER_ADDRESS = 500;

/** Window of refused signatures that named no merchant. */
export const UNNAMED_FAILURES_SECONDS = 60;

/** How many refused signatures a client address may send before it is told to slow down. */
export const REFUSED_SIGNATURE_LIMIT: RateLimit = { requests: 100, seconds: 10 };
/** Without scripts the hosted page loads itself every few seconds, and a customer may have it open twice. */
export const CHECKOUT_PAGE_LIMIT: RateLimit = { requests: 10, seconds: 5 };

/** A browser opens a stream and keeps it; when it is cut off, it comes again after two seconds. */
export const ORDER_EVENTS_LIMIT: RateLimit = { requests: 10, seconds: 5 };

/** Of larger limits not every request's time is kept: the border of a window matters little to them. */
const RECENT_MAX = 100;

/**
 * Counts in windows that begin with a key's first request; an order's few requests in every window. `memory` counts for this process alone; a database's pool
 * counts for every replica in the table rate_counter, and what is over its limit is remembered here until its window
 * ends, so that a flood costs the database nothing.
 */
export function createRateLimits(
  store: 'memory' | Database['pool'],
  nowMs = () => performance.now(),
): RateLimits {
  const recent = store === 'memory' ? createRecentRequests(nowMs) : createSharedRecentRequests(store, nowMs);
  // One limiter per kind and limit: as many as there are different limits among the merchants.
  const limiters = new Map<string, RateLimiterAbstract>();

  function limiterFor(kind: LimitKind, limit: RateLimit): RateLimiterAbstract {
    const name = `${kind}:${limit.requests}:${limit.seconds}`;
    let limiter = limiters.get(name);
    if (limiter === undefined) {
      limiter = createLimiter(kind.startsWith('address:') ? 'memory' : store, kind, limit);
      limiters.set(name, limiter);
    }
    return limiter;
  }

  return {
    async take(kind, key, limit) {
      try {
        if (kind.startsWith('order:') && limit.requests <= RECENT_MAX) {
          return Math.ceil((await recent.take(`${kind}:${key}`, limit)) / 1000);
        }
        await limiterFor(kind, limit).consume(key);
        return 0;
      } catch (reason) {
        if (reason instanceof RateLimiterRes) return Math.max(1, Math.ceil(reason.msBeforeNext / 1000));
        throw translateDatabaseError(reason);
      }
    },
    async peek(kind, key, limit) {
      const counted = await limiterFor(kind, limit).get(key);
      if (counted === null || counted.consumedPoints < limit.requests) return 0;
      return Math.max(1, Math.ceil(counted.msBeforeNext / 1000));
    },
  };
}

function createLimiter(
  store: 'memory' | Database['pool'],
  kind: LimitKind,
  limit: RateLimit,
): RateLimiterAbstract {
  const options = { keyPrefix: kind, points: limit.requests, duration: limit.seconds };
  if (store === 'memory') return new RateLimiterMemory(options);
  return new RateLimiterPostgres({
    ...options,
    storeClient: store,
    storeType: 'pool',
    tableName: 'rate_counter',
    tableCreated: true,
    clearExpiredByTimeout: false, // store.ts forgets them
    inMemoryBlockOnConsumed: limit.requests,
  });
}
