import {
  DEFAULT_RATE_LIMITS,
  readRateLimitOverrides,
  type LimitedEndpoint,
  type RateLimit,
  type RateLimitOverrides,
} from '@opentill/contracts/http/rate-limits';
import { openSecret, tokenAad } from '@opentill/db/sealed-secret';
import type { Observe } from './observe.ts';
import type { MerchantRow, Store } from './store.ts';

/** A merchant as requests meet it. */
export interface Merchant {
  readonly merchantId: string;
  readonly version: 'V2' | 'V3';
  readonly signVersion: 1 | 2;
  /** In clear: never to be logged. */
  readonly token: string;
  readonly returnOrigins: readonly string[];
  readonly orderTtlSeconds: number;
  readonly underpaymentToleranceBps: number;
  readonly lateGraceSeconds: number;
  readonly rateLimits: RateLimitOverrides;
}

export interface MerchantBook {
  /** Reads what changed since the last time; everything, the first time. */
  refresh(): Promise<void>;
  /**
   * For a request that no known merchant signed: reads again, unless that was done a moment ago, so that a flood of
   * wrong signatures costs few queries. True when it has read.
   */
  refreshOnMiss(): Promise<boolean>;
  /** Whether the merchants were read at least once. */
  readonly loaded: boolean;
  /** The enabled merchants. With an id: the one of that id, or none. */
  candidates(merchantId: string | undefined): readonly Merchant[];
  /** A merchant's own limit. */
  limitOf(merchant: Merchant, endpoint: LimitedEndpoint): RateLimit;
  /**
   * The limit by client address, which is counted before anybody knows who asks: the most generous one among the
   * merchants, so that a merchant's raised limit can be used from one server.
   */
  ipLimit(endpoint: LimitedEndpoint): RateLimit;
}

const MISS_INTERVAL_MS = 250;
/** A row's `updated_at` is older than its commit; what commits later than this after its begin is seen at the next full read. */
const OVERLAP_MS = 60_000;
const FULL_READ_INTERVAL_MS = 300_000;

/** Keeps the merchants in memory with their tokens decrypted. `nowMs`: a monotonic clock. */
export function createMerchantBook(deps: {
  readonly store: Pick<Store, 'readMerchants'>;
  readonly secretsKey: Buffer;
  readonly observe: Pick<Observe, 'merchantUnreadable'>;
  readonly nowMs: () => number;
}): MerchantBook {
  const known = new Map<string, Merchant>();
  let enabled: readonly Merchant[] = [];
  let ipLimits: { readonly [E in LimitedEndpoint]: RateLimit } = DEFAULT_RATE_LIMITS;
  let newest: Date | undefined;
  let loaded = false;
  let lastReadMs = -Infinity;
  let lastFullReadMs = -Infinity;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    lastReadMs = deps.nowMs();
    const full = lastReadMs - lastFullReadMs >= FULL_READ_INTERVAL_MS;
    const since = full || newest === undefined ? undefined : new Date(newest.getTime() - OVERLAP_MS);
    const rows = await deps.store.readMerchants(since);
    for (const row of rows) {
      if (newest === undefined || row.updatedAt > newest) newest = row.updatedAt;
      const merchant = row.enabled ? openMerchant(row) : undefined;
      if (merchant === undefined) known.delete(row.merchantId);
      else known.set(row.merchantId, merchant);
    }
    if (full) lastFullReadMs = lastReadMs;
    enabled = [...known.values()].toSorted((a, b) => (a.merchantId < b.merchantId ? -1 : 1));
    ipLimits = mostGenerous(enabled);
    loaded = true;
  }

  function openMerchant(row: MerchantRow): Merchant | undefined {
    try {
      const token = openSecret(deps.secretsKey, row.tokenSealed, tokenAad(row.merchantId));
      if (token === '') throw new Error('the token is empty');
      return { ...row, token, rateLimits: readRateLimitOverrides(row.rateLimits) };
    } catch (error) {
      deps.observe.merchantUnreadable(row.merchantId, error);
      return undefined;
    }
  }

  const refresh = () => (reading ??= read().finally(() => (reading = undefined)));
  return {
    refresh,
    async refreshOnMiss() {
      if (reading === undefined && deps.nowMs() - lastReadMs < MISS_INTERVAL_MS) return false;
      await refresh();
      return true;
    },
    get loaded() {
      return loaded;
    },
    candidates(merchantId) {
      if (merchantId === undefined) return enabled;
      const merchant = known.get(merchantId);
      return merchant === undefined ? [] : [merchant];
    },
    limitOf: (merchant, endpoint) => merchant.rateLimits[endpoint] ?? DEFAULT_RATE_LIMITS[endpoint],
    ipLimit: (endpoint) => ipLimits[endpoint],
  };
}

function mostGenerous(merchants: readonly Merchant[]): { readonly [E in LimitedEndpoint]: RateLimit } {
  const perSecond = (limit: RateLimit) => limit.requests / limit.seconds;
  const limits: { [E in LimitedEndpoint]: RateLimit } = { ...DEFAULT_RATE_LIMITS };
  for (const endpoint of Object.keys(limits) as LimitedEndpoint[]) {
    const [most] = merchants
      .map((merchant) => merchant.rateLimits[endpoint] ?? DEFAULT_RATE_LIMITS[endpoint])
      .toSorted((a, b) => perSecond(b) - perSecond(a));
    if (most !== undefined) limits[endpoint] = most;
  }
  return limits;
}
