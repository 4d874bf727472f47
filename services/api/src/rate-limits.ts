import {
  RateLimiterMemory,
  RateLimiterPostgres,
  RateLimiterRes,
  type RateLimiterAbstract,
} from 'rate-limiter-flexible';
import type { RateLimit } from '@opentill/contracts/http/rate-limits';
import type { Db } from '@opentill/db/database';
import { createRecentRequests, createSharedRecentRequests } from './recent-requests.ts';
import { createLimiterClient } from './store/limiter-client.ts';

/** Requests with a signed body. */
export type SignedEndpoint = 'createCollection' | 'createPayout' | 'link';

/** One counter exists per kind, endpoint and key. */
export type LimitKind =
  | `ip:${SignedEndpoint | 'status' | 'supportSymbols'}`
  | `merchant:${SignedEndpoint}`
  | `order:${'pay' | 'getOrderStatus' | 'checkout' | 'events' | 'choose'}`
  | `${'ip' | 'link'}:openOrder`
  | 'refused'
  | ProcessLimitKind;

/** Limits that protect this process' processor. Always counted in memory. */
export type ProcessLimitKind = `address:${'order' | 'unnamed' | 'logo' | 'link'}`;

export interface RateLimits {
  /**
   * Counts one request. Returns 0 within the limit, else the seconds until the window ends.
   * @throws GatewayError DATABASE_UNAVAILABLE when the shared store is not reachable
   */
  take(kind: LimitKind, key: string, limit: RateLimit): Promise<number>;
  /** Like `take`, without counting. */
  peek(kind: ProcessLimitKind, key: string, limit: RateLimit): Promise<number>;
}

/**
 * Orders that one client address may poll at their full rate: many customers behind one address, or a shop's server.
 * Counted before the signature is verified.
 */
export const ORDERS_PER_ADDRESS = 500;

export const UNNAMED_FAILURES_SECONDS = 60;

/** Wrong signatures per client address before it gets 429. */
export const REFUSED_SIGNATURE_LIMIT: RateLimit = { requests: 100, seconds: 10 };
/** Without scripts the page reloads every few seconds, and a customer may have it open twice. */
export const CHECKOUT_PAGE_LIMIT: RateLimit = { requests: 10, seconds: 5 };

/**
 * Orders that payment links open for a client address, and orders of one link. A reserved piece of stock stays reserved
 * until its order expires, so an address must not take many.
 */
export const LINK_ORDERS_PER_ADDRESS: RateLimit = { requests: 20, seconds: 600 };
export const ORDERS_PER_LINK: RateLimit = { requests: 100, seconds: 60 };

/** Visits of link pages, each with a query. */
export const LINK_VISITS_PER_ADDRESS: RateLimit = { requests: 100, seconds: 10 };

/** Browsers keep a logo, so each customer behind an address asks once. */
export const MERCHANT_LOGO_LIMIT: RateLimit = { requests: 500, seconds: 10 };

/** A browser keeps its stream open and reconnects 2 s after a disconnect. */
export const ORDER_EVENTS_LIMIT: RateLimit = { requests: 10, seconds: 5 };

/** A customer compares coins. Each first choice of a family takes an address. */
export const CHOICE_LIMIT: RateLimit = { requests: 10, seconds: 10 };

/** Larger limits use fixed windows instead of one timestamp per request, since the window's border matters little. */
const RECENT_MAX = 100;

/**
 * Counts in windows that start with a key's first request; an order's limits use sliding windows. `memory` counts for
 * this process only. A database counts for all replicas in the table rate_counter. A key above its limit is
 * remembered in memory until its window ends, so that a flood costs the database no queries.
 */
export function createRateLimits(store: 'memory' | Db, nowMs = () => performance.now()): RateLimits {
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
        throw reason;
      }
    },
    async peek(kind, key, limit) {
      const counted = await limiterFor(kind, limit).get(key);
      if (counted === null || counted.consumedPoints < limit.requests) return 0;
      return Math.max(1, Math.ceil(counted.msBeforeNext / 1000));
    },
  };
}

function createLimiter(store: 'memory' | Db, kind: LimitKind, limit: RateLimit): RateLimiterAbstract {
  const options = { keyPrefix: kind, points: limit.requests, duration: limit.seconds };
  if (store === 'memory') return new RateLimiterMemory(options);
  return new RateLimiterPostgres({
    ...options,
    storeClient: createLimiterClient(store),
    storeType: 'pool',
    tableName: 'rate_counter',
    tableCreated: true,
    clearExpiredByTimeout: false, // the housekeeping loop deletes them
    inMemoryBlockOnConsumed: limit.requests,
  });
}
