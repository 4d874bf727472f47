import { describe, expect, test } from 'vitest';
import { findGaps, freeNonces, freeSlots, noncesToSign } from './plan-nonces.ts';
import { noncesToReserve, type OpenNonce, type OwnAttempt } from './store/nonce-facts.ts';

function nonce(
  number: number,
  state: 'RESERVED' | 'SIGNED',
  holder: string | null,
  isMined = false,
): OpenNonce {
  const attempts = state === 'SIGNED' ? [{ isMined } as OwnAttempt] : [];
  return { nonce: number, state, orderPk: holder, purpose: 'PAYOUT', attempts };
}

describe('nonce plan', () => {
  test('reserves free nonces first, lowest first, then new ones', () => {
    const nonces = [nonce(3, 'SIGNED', 'a'), nonce(4, 'RESERVED', null), nonce(5, 'RESERVED', 'b')];
    expect(noncesToReserve(freeNonces(nonces), 6, 3)).toEqual([4, 6, 7]);
    expect(noncesToReserve([], 0, 2)).toEqual([0, 1]);
  });

  test('signs from the lowest nonce on, regardless of reservations', () => {
    const nonces = [nonce(3, 'SIGNED', 'a'), nonce(4, 'RESERVED', 'stuck'), nonce(5, 'RESERVED', 'b')];
    expect(noncesToSign(nonces, 6, 1)).toEqual([4]);
    expect(noncesToSign(nonces, 6, 3)).toEqual([4, 5, 6]);
  });

  test('reports an unsigned nonce below a signed one as a gap', () => {
    const nonces = [nonce(3, 'RESERVED', null), nonce(4, 'SIGNED', 'a'), nonce(5, 'RESERVED', null)];
    expect(findGaps(nonces).map((gap) => gap.nonce)).toEqual([3]);
    expect(findGaps([nonce(5, 'RESERVED', null)])).toEqual([]);
  });

  test('counts reserved and in-flight nonces against the cap, but not mined ones', () => {
    const nonces = [
      nonce(1, 'SIGNED', 'a', true),
      nonce(2, 'SIGNED', 'b'),
      nonce(3, 'RESERVED', 'c'),
      nonce(4, 'RESERVED', null),
    ];
    expect(freeSlots(nonces, 16)).toBe(14);
    expect(freeSlots(nonces, 1)).toBe(0);
  });
});
