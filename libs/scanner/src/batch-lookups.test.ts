import { describe, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import { batchLookups } from './batch-lookups.ts';

const address = (name: string): Address => name as Address;
const [A, B, C, D] = ['a', 'b', 'c', 'd'].map(address) as [Address, Address, Address, Address];
const LONG_MS = 60_000;

interface Asked {
  readonly addresses: readonly string[];
  answer(...ours: readonly Address[]): void;
  fail(error: Error): void;
}

function batchedLookup(options: { readonly withinMs: number; readonly together: number }) {
  const asked: Asked[] = [];
  const find = batchLookups((_, addresses) => {
    const { promise, resolve, reject } = Promise.withResolvers<ReadonlySet<Address>>();
    asked.push({ addresses, answer: (...ours) => resolve(new Set(ours)), fail: reject });
    return promise;
  }, options);
  return { asked, find: (...addresses: readonly Address[]) => find('EVM', addresses) };
}

describe('batchLookups', () => {
  it('batches concurrent lookups into one statement and answers all of them', async () => {
    const { asked, find } = batchedLookup({ withinMs: LONG_MS, together: 3 });
    const first = find(A, B);
    const second = find(B, C);
    expect(asked).toEqual([]);
    const third = find(A, D);
    expect(asked.map(({ addresses }) => addresses)).toEqual([[A, B, B, C, A, D]]);
    asked[0]!.answer(C, D);
    for (const answer of [first, second, third]) expect(await answer).toEqual(new Set([C, D]));
  });

  it('starts the statement after withinMs', async () => {
    const { asked, find } = batchedLookup({ withinMs: 1, together: 3 });
    const first = find(A);
    while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    asked[0]!.answer();
    expect(await first).toEqual(new Set());
  });

  it('does not join a running statement, whose answer may be older than the blocks', async () => {
    const { asked, find } = batchedLookup({ withinMs: LONG_MS, together: 2 });
    const first = [find(A), find(B)];
    const later = [find(A), find(B)];
    expect(asked).toHaveLength(2);
    asked[0]!.answer();
    asked[1]!.answer(A);
    for (const answer of first) expect(await answer).toEqual(new Set());
    for (const answer of later) expect(await answer).toEqual(new Set([A]));
  });

  it('rejects all lookups of a failed statement and starts a new one for the next', async () => {
    const { asked, find } = batchedLookup({ withinMs: LONG_MS, together: 2 });
    const failing = [find(A), find(B)];
    asked[0]!.fail(new Error('away'));
    for (const answer of failing) await expect(answer).rejects.toThrow('away');
    const again = [find(A), find(B)];
    asked[1]!.answer(B);
    for (const answer of again) expect(await answer).toEqual(new Set([B]));
  });
});
