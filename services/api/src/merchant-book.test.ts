import { describe, expect, it } from 'vitest';
import { sealSecret, tokenAad } from '@opentill/db/sealed-secret';
import { createMerchantBook } from './merchant-book.ts';
import type { MerchantRow } from './store/maintenance.ts';

const secretsKey = Buffer.alloc(32, 7);

function row(merchantId: string, change: Partial<MerchantRow> = {}): MerchantRow {
  return {
    merchantId,
    version: 'V3',
    signVersion: 1,
    tokenSealed: sealSecret(secretsKey, `token-${merchantId}`, tokenAad(merchantId)),
    returnOrigins: [],
    orderTtlSeconds: 1800,
    underpaymentToleranceBps: 0,
    markupBps: 0,
    lateGraceSeconds: 0,
    rateLimits: {},
    enabled: true,
    createdAt: new Date('2025-01-01T00:00:00Z'),
    updatedAt: new Date('2025-01-01T00:00:00Z'),
    readAt: new Date('2026-01-01T00:00:00Z'),
    ...change,
  };
}

function bookOf(answers: (readonly MerchantRow[])[]) {
  const asked: (Date | undefined)[] = [];
  const unreadable: string[] = [];
  let now = 1_000_000;
  const book = createMerchantBook({
    store: {
      readMerchants: (since) => {
        asked.push(since);
        return Promise.resolve(answers.shift() ?? []);
      },
    },
    secretsKey,
    observe: { merchantUnreadable: (merchantId) => unreadable.push(merchantId) },
    nowMs: () => now,
    unnamedMax: 3,
  });
  return { book, asked, unreadable, advance: (ms: number) => void (now += ms) };
}

describe('createMerchantBook', () => {
  it('decrypts tokens and skips disabled and unreadable merchants', async () => {
    const stolen = row('thief', { tokenSealed: row('shop').tokenSealed });
    const { book, unreadable } = bookOf([[row('shop'), row('closed', { enabled: false }), stolen]]);
    expect(book.loaded).toBe(false);
    await book.refresh();
    expect(book.loaded).toBe(true);
    expect(book.candidates(undefined).map((merchant) => merchant.token)).toEqual(['token-shop']);
    expect(book.candidates('shop')).toHaveLength(1);
    expect(unreadable).toEqual(['thief']);
  });

  it('returns a decoy for an unknown or disabled merchant', async () => {
    const { book } = bookOf([[row('shop'), row('closed', { enabled: false })]]);
    await book.refresh();
    const [decoy, ...more] = book.candidates('unknown');
    expect(more).toEqual([]);
    expect(decoy?.token).toMatch(/^[\w-]{43}$/);
    expect(book.candidates('closed')).toEqual([decoy]);
  });

  it('returns at most the configured number of oldest merchants without an id', async () => {
    const createdAt = (day: number) => ({ createdAt: new Date(Date.UTC(2025, 0, day)) });
    const many = Array.from({ length: 100 }, (_, i) => row(`a${i}`, createdAt(9)));
    const old = ['z', 'y', 'x'].map((id, i) => row(id, createdAt(i + 1)));
    const { book } = bookOf([[...many, ...old], [row('z', { ...createdAt(1), enabled: false })]]);
    await book.refresh();
    const ids = () => book.candidates(undefined).map(({ merchantId }) => merchantId);
    expect([book.count, ids()]).toEqual([103, ['z', 'y', 'x']]);
    await book.refresh();
    expect([book.count, ids()]).toEqual([102, ['y', 'x', 'a0']]);
  });

  it('decrypts a token again only when its row changed', async () => {
    // Each attempt to decrypt an unreadable row is reported.
    const thief = row('thief', { tokenSealed: row('shop').tokenSealed });
    const { book, unreadable } = bookOf([
      [thief],
      [{ ...thief, readAt: new Date('2026-01-02') }],
      [{ ...thief, version: 'V2' }],
    ]);
    const opened: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      await book.refresh();
      opened.push(unreadable.length);
    }
    expect(opened).toEqual([1, 1, 2]);
  });

  it('reads changes with an overlap, and everything from time to time', async () => {
    const { book, asked, advance } = bookOf([[row('shop')], [], [], [row('shop', { enabled: false })]]);
    await book.refresh();
    advance(3_000);
    await book.refresh();
    advance(400_000);
    await book.refresh();
    await book.refresh();
    expect(asked).toEqual([
      undefined,
      new Date('2025-12-31T23:59:00Z'),
      undefined,
      new Date('2025-12-31T23:59:00Z'),
    ]);
    expect(book.candidates(undefined)).toEqual([]);
  });

  it('reads again after a miss, with a limited frequency', async () => {
    const { book, asked, advance } = bookOf([[row('shop')]]);
    await book.refresh();
    expect(await book.refreshOnMiss()).toBe(false);
    advance(300);
    expect(await Promise.all([book.refreshOnMiss(), book.refreshOnMiss()])).toEqual([true, true]);
    expect(asked).toHaveLength(2);
    expect(await book.refreshOnMiss()).toBe(false);
  });

  it("uses a merchant's own limits, and the highest of them per client address", async () => {
    const small = { createCollection: { requests: 5, seconds: 10 }, status: { requests: 5, seconds: 10 } };
    const large = { createCollection: { requests: 500, seconds: 10 }, status: { requests: 1, seconds: 10 } };
    const { book } = bookOf([[row('small', { rateLimits: small }), row('large', { rateLimits: large })]]);
    expect(book.ipLimit('createCollection')).toEqual({ requests: 100, seconds: 10 });
    await book.refresh();
    const [first, second] = book.candidates(undefined);
    expect([first!.merchantId, second!.merchantId]).toEqual(['large', 'small']);
    expect(book.limitOf(second!, 'createCollection')).toEqual({ requests: 5, seconds: 10 });
    expect(book.limitOf(second!, 'pay')).toEqual({ requests: 2, seconds: 1 });
    expect(book.ipLimit('createCollection')).toEqual({ requests: 500, seconds: 10 });
    expect(book.ipLimit('status')).toEqual({ requests: 5, seconds: 10 });
    expect(book.ipLimit('supportSymbols')).toEqual({ requests: 50, seconds: 10 });
  });
});
