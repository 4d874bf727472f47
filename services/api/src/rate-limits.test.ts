import { describe, expect, it } from '@jest/globals';
import { createRateLimits } from './rate-limits.ts';

describe('counting in memory', () => {
  const limit = { requests: 3, seconds: 60 };

  it('lets exactly the limit pass, per kind and key', async () => {
    const limits = createRateLimits('memory');
    const take = (kind: 'order:pay' | 'order:getOrderStatus', key: string) => limits.take(kind, key, limit);
    expect(await Promise.all([1, 2, 3].map(() => take('order:pay', 'a')))).toEqual([0, 0, 0]);
    const wait = await take('order:pay', 'a');
    expect(wait).toBeGreaterThan(55);
    expect(wait).toBeLessThanOrEqual(60);
    expect(await take('order:pay', 'b')).toBe(0);
    expect(await take('order:getOrderStatus', 'a')).toBe(0);
  });

  it('begins anew with a changed limit', async () => {
    const limits = createRateLimits('memory');
    for (let i = 0; i < 4; i += 1) await limits.take('merchant:createPayout', 'm', limit);
    expect(await limits.take('merchant:createPayout', 'm', limit)).toBeGreaterThan(0);
    expect(await limits.take('merchant:createPayout', 'm', { requests: 10, seconds: 60 })).toBe(0);
  });
});
