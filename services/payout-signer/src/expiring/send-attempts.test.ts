import { describe, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { TxHash } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import { overdue, type OpenAttempt } from './store/attempt-facts.ts';
import type { ExpiringView } from './store/attempt-store.ts';
import { chooseSends, forgetSettled } from './send-attempts.ts';

const hash = 'b' as BlockHash;
const attempt = (name: string, expiresMs: number, change: Partial<OpenAttempt> = {}): OpenAttempt => ({
  txHash: name as TxHash,
  orderPk: name,
  contract: null,
  to: 'to' as Address,
  amountBaseUnits: baseUnits(1n),
  feeLimitBaseUnits: 0n,
  costBaseUnits: 0n,
  validity: { expiresMs, uniqueMs: 1, reference: { height: 1, hash } },
  hasBytes: true,
  signedAt: new Date(0),
  outcome: null,
  minedHeight: null,
  isVerified: false,
  hasLanded: false,
  ...change,
});
const cursor = (seenMs: number, overMs: number | null): ExpiringView['cursor'] => ({
  seen: { height: 9, hash, timeMs: seenMs },
  verified: { height: 5, hash, timeMs: 0 },
  overMs,
  epoch: null,
});
const timing = { resendMs: 5_000, resendMaxMs: 10_000 };
const names = (sends: readonly { readonly txHash: TxHash }[]) => sends.map(({ txHash }) => txHash);

describe('sending of stored bytes', () => {
  test('sends new bytes at once, again after 5 s, and then every 10 s', () => {
    const view = { attempts: [attempt('a', 60_000)], cursor: cursor(0, 0) };
    const memory = { sends: new Map() };
    const sentAt: number[] = [];
    for (let now = 0; now < 40_000; now += 1_000) {
      if (chooseSends(view, memory, now, timing, 9).length === 0) continue;
      sentAt.push(now);
      memory.sends.set('a' as TxHash, { times: sentAt.length, atMs: now });
    }
    expect(sentAt).toEqual([0, 5_000, 15_000, 25_000, 35_000]);
  });

  test('resends despite node answers, unless expired, mined or without bytes', () => {
    const attempts = [
      attempt('expired by a node', 60_001, { outcome: 'EXPIRED' }),
      attempt('refused', 60_001, { outcome: 'REFUSED' }),
      attempt('over', 60_000),
      attempt('mined', 90_000, { minedHeight: 8 }),
      attempt('adopted', 90_000, { hasBytes: false }),
    ];
    const view = { attempts, cursor: cursor(60_000, 0) };
    expect(names(chooseSends(view, { sends: new Map() }, 0, timing, 9))).toEqual([
      'expired by a node',
      'refused',
    ]);
    expect(chooseSends(view, { sends: new Map() }, 0, timing, 1)).toHaveLength(1);
  });

  test('resends at once when a reorganisation removes the block', () => {
    const sends = new Map([['a' as TxHash, { times: 3, atMs: 0 }]]);
    forgetSettled({ sends }, [attempt('a', 1)]);
    expect(sends.size).toBe(1);
    forgetSettled({ sends }, [attempt('a', 1, { minedHeight: 3 })]);
    expect(sends.size).toBe(0);
  });
});

test('treats an attempt as overdue only by final blocks, and if no block holds it', () => {
  const attempts = [
    attempt('at its end', 50_000),
    attempt('later', 50_001),
    attempt('mined', 1, { minedHeight: 3 }),
  ];
  expect(names(overdue({ attempts, cursor: cursor(90_000, 50_000) }))).toEqual(['at its end']);
  expect(overdue({ attempts, cursor: cursor(90_000, null) })).toEqual([]);
  expect(overdue({ attempts, cursor: null })).toEqual([]);
});
