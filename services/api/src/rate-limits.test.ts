import { describe, expect, it } from 'vitest';
import { createRateLimits } from './rate-limits.ts';
import { createRecentRequests } from './recent-requests.ts';

describe('createRateLimits', () => {
  const limit = { requests: 3, seconds: 3_600 };

  it('allows exactly the limit per kind and key', async () => {
    const limits = createRateLimits('memory');
    const take = (kind: 'order:pay' | 'order:getOrderStatus', key: string) => limits.take(kind, key, limit);
    expect(await Promise.all([1, 2, 3].map(() => take('order:pay', 'a')))).toEqual([0, 0, 0]);
    const wait = await take('order:pay', 'a');
    expect(wait).toBeGreaterThan(3_500);
    expect(wait).toBeLessThanOrEqual(3_600);
    expect(await take('order:pay', 'b')).toBe(0);
    expect(await take('order:getOrderStatus', 'a')).toBe(0);
  });

  it('starts a new window when the limit changes', async () => {
    const limits = createRateLimits('memory');
    for (let i = 0; i < 4; i += 1) await limits.take('merchant:createPayout', 'm', limit);
    expect(await limits.take('merchant:createPayout', 'm', limit)).toBeGreaterThan(0);
    expect(await limits.take('merchant:createPayout', 'm', { requests: 10, seconds: 3_600 })).toBe(0);
  });
});

describe('createRecentRequests', () => {
  it('stays within the limit in any window, also across its border', async () => {
    let now = 5_000;
    const limits = createRateLimits('memory', () => now);
    const at = (ms: number) => {
      now = 5_000 + ms;
      return limits.take('order:pay', 'a', { requests: 2, seconds: 1 });
    };
    expect([await at(0), await at(990), await at(1_000), await at(1_040)]).toEqual([0, 0, 0, 1]);
    expect([await at(1_989), await at(1_990), await at(1_991)]).toEqual([1, 0, 1]);
    // Two requests at once are within the limit, and rejected ones are not counted.
    expect([await at(9_000), await at(9_000), await at(9_000), await at(9_999)]).toEqual([0, 0, 1, 1]);
    expect([await at(10_000), await at(10_000)]).toEqual([0, 0]);
  });

  it('keeps a bounded number of keys', async () => {
    const recent = createRecentRequests(() => 0, 2);
    const limit = { requests: 1, seconds: 1 };
    for (const key of ['a', 'b', 'c']) expect(await recent.take(key, limit)).toBe(0);
    expect(await recent.take('c', limit)).toBe(1_000);
    expect(await recent.take('a', limit)).toBe(0);
  });
});
