import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  DEFAULT_RATE_LIMITS,
  readRateLimitOverrides,
  type LimitedEndpoint,
  type RateLimit,
  type RateLimitOverrides,
} from '@opentill/contracts/http/rate-limits';
import { openSecret, tokenAad } from '@opentill/db/sealed-secret';
import type { Observe } from './observe.ts';
import type { MerchantRow } from './store/maintenance.ts';
import type { Store } from './store/create-store.ts';

/** A merchant as requests use it. */
export interface Merchant {
  readonly merchantId: string;
  readonly version: 'V2' | 'V3';
  readonly signVersion: 1 | 2;
  /** Decrypted: never log it. */
  readonly token: string;
  readonly returnOrigins: readonly string[];
  readonly orderTtlSeconds: number;
  readonly underpaymentToleranceBps: number;
  /** Added to amounts that are computed from a price, in hundredths of a percent. */
  readonly markupBps: number;
  readonly lateGraceSeconds: number;
  readonly rateLimits: RateLimitOverrides;
}

export interface MerchantBook {
  /** Reads merchants that changed since the last read; all of them the first time. */
  refresh(): Promise<void>;
  /**
   * Reads again after a request that no known merchant signed. Limited in frequency, so that a flood of wrong
   * signatures costs few queries. True when it has read.
   */
  refreshOnMiss(): Promise<boolean>;
  /** True after the first successful read. */
  readonly loaded: boolean;
  /** Number of enabled merchants. */
  readonly count: number;
  /**
   * Merchants whose tokens are tried. With an id: that merchant, or for an unknown id a decoy, so that it costs as much
   * as a wrong signature. Without an id: the `unnamedMax` oldest merchants.
   */
  candidates(merchantId: string | undefined): readonly Merchant[];
  /** An enabled merchant, also one that was created since the last read. */
  find(merchantId: string): Promise<Merchant | undefined>;
  limitOf(merchant: Merchant, endpoint: LimitedEndpoint): RateLimit;
  /**
   * Limit per client address, counted before the merchant is known. It is the highest limit among the merchants, so
   * that one server can use a merchant's raised limit.
   */
  ipLimit(endpoint: LimitedEndpoint): RateLimit;
}

const MISS_INTERVAL_MS = 250;
/** `updated_at` is older than the row's commit. A commit that takes longer than this is seen at the next full read. */
const OVERLAP_MS = 60_000;
const FULL_READ_INTERVAL_MS = 300_000;

/** Decoy for every unknown merchant. No client has its token. */
const DECOY: Merchant = {
  merchantId: '',
  version: 'V3',
  signVersion: 1,
  token: randomBytes(32).toString('base64url'),
  returnOrigins: [],
  orderTtlSeconds: 0,
  underpaymentToleranceBps: 0,
  markupBps: 0,
  lateGraceSeconds: 0,
  rateLimits: {},
};

type StoredMerchant = Omit<MerchantRow, 'readAt'>;

interface KnownMerchant {
  readonly row: StoredMerchant;
  /** Undefined when disabled or when the token cannot be decrypted. */
  readonly merchant: Merchant | undefined;
}

interface MerchantBookDeps {
  readonly store: Pick<Store, 'readMerchants'>;
  readonly secretsKey: Buffer;
  readonly observe: Pick<Observe, 'merchantUnreadable'>;
  /** Monotonic clock in milliseconds. */
  readonly nowMs: () => number;
  /** Maximum number of candidates for a request without a merchant id. */
  readonly unnamedMax: number;
}

/** Keeps the merchants with their decrypted tokens in memory. */
export function createMerchantBook(deps: MerchantBookDeps): MerchantBook {
  const known = new Map<string, KnownMerchant>();
  let { count, unnamed, ipLimits } = summarise(known, deps.unnamedMax);
  /** Database time of the last read that returned rows. */
  let readAt: Date | undefined;
  let loaded = false;
  let lastReadMs = -Infinity;
  let lastFullReadMs = -Infinity;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    lastReadMs = deps.nowMs();
    const full = lastReadMs - lastFullReadMs >= FULL_READ_INTERVAL_MS;
    const since = full || readAt === undefined ? undefined : new Date(readAt.getTime() - OVERLAP_MS);
    const rows = await deps.store.readMerchants(since);
    // The overlap returns rows again. Unchanged rows cost only the comparison.
    let isChanged = false;
    for (const { readAt: at, ...row } of rows) {
      readAt = at;
      if (isDeepStrictEqual(known.get(row.merchantId)?.row, row)) continue;
      isChanged = true;
      known.set(row.merchantId, { row, merchant: row.enabled ? openMerchant(deps, row) : undefined });
    }
    if (full) lastFullReadMs = lastReadMs;
    if (isChanged) ({ count, unnamed, ipLimits } = summarise(known, deps.unnamedMax));
    loaded = true;
  }

  const refresh = () => (reading ??= read().finally(() => (reading = undefined)));
  async function refreshOnMiss(): Promise<boolean> {
    if (reading === undefined && deps.nowMs() - lastReadMs < MISS_INTERVAL_MS) return false;
    await refresh();
    return true;
  }
  return {
    refresh,
    refreshOnMiss,
    async find(merchantId) {
      if (!known.has(merchantId)) await refreshOnMiss();
      return known.get(merchantId)?.merchant;
    },
    get loaded() {
      return loaded;
    },
    get count() {
      return count;
    },
    candidates(merchantId) {
      return merchantId === undefined ? unnamed : [known.get(merchantId)?.merchant ?? DECOY];
    },
    limitOf: (merchant, endpoint) => merchant.rateLimits[endpoint] ?? DEFAULT_RATE_LIMITS[endpoint],
    ipLimit: (endpoint) => ipLimits[endpoint],
  };
}

function openMerchant({ secretsKey, observe }: MerchantBookDeps, row: StoredMerchant): Merchant | undefined {
  try {
    const token = openSecret(secretsKey, row.tokenSealed, tokenAad(row.merchantId));
    if (token === '') throw new Error('the token is empty');
    return { ...row, token, rateLimits: readRateLimitOverrides(row.rateLimits) };
  } catch (error) {
    observe.merchantUnreadable(row.merchantId, error);
    return undefined;
  }
}

/** Recomputes the parts of the book that depend on all merchants. */
function summarise(known: ReadonlyMap<string, KnownMerchant>, unnamedMax: number) {
  const byAge = [...known.values()].toSorted(
    (a, b) => +a.row.createdAt - +b.row.createdAt || (a.row.merchantId < b.row.merchantId ? -1 : 1),
  );
  const enabled = byAge.flatMap(({ merchant }) => (merchant === undefined ? [] : [merchant]));
  return {
    count: enabled.length,
    unnamed: enabled.slice(0, unnamedMax),
    ipLimits: mostGenerous(enabled),
  };
}

function mostGenerous(merchants: readonly Merchant[]): { readonly [E in LimitedEndpoint]: RateLimit } {
  const perSecond = (limit: RateLimit) => limit.requests / limit.seconds;
  const limits: { [E in LimitedEndpoint]: RateLimit } = { ...DEFAULT_RATE_LIMITS };
  if (merchants.length === 0) return limits;
  for (const endpoint of Object.keys(limits) as LimitedEndpoint[]) {
    limits[endpoint] = merchants
      .map((merchant) => merchant.rateLimits[endpoint] ?? DEFAULT_RATE_LIMITS[endpoint])
      .reduce((most, limit) => (perSecond(limit) > perSecond(most) ? limit : most));
  }
  return limits;
}
