import { beforeEach, describe, expect, test } from 'vitest';
import type { TxHash } from '@opentill/chain/transfer';
import type { FeeTerms, SendOutcome } from '@opentill/chain/wallet-sender';
import {
  chooseBumps,
  chooseSends,
  chooseSuspects,
  createSendMemory,
  forgetSettled,
  rememberSent,
  type SendMemory,
  type Suspicions,
} from './next-sends.ts';
import type { OpenNonce, OwnAttempt } from './store/nonce-facts.ts';

const TIMING = { resendMs: 1_000, resendMaxMs: 4_000, bumpAfterMs: 10_000 };
const terms = (maxFeePerGas: bigint): FeeTerms => ({ gasLimit: 1n, maxFeePerGas, maxPriorityFeePerGas: 1n });

function attempt(hash: string, more: Partial<OwnAttempt> = {}): OwnAttempt {
  return {
    txHash: hash as TxHash,
    contract: null,
    to: '0x' as never,
    amountBaseUnits: 1n as never,
    terms: terms(100n),
    signedAt: new Date(0),
    lastSentAt: null,
    outcome: null,
    isMined: false,
    isVerified: false,
    ...more,
  };
}
const signed = (nonce: number, ...attempts: OwnAttempt[]): OpenNonce => {
  return { nonce, state: 'SIGNED', orderPk: `p${nonce}`, purpose: 'PAYOUT', attempts };
};

let memory: SendMemory;
beforeEach(() => {
  memory = createSendMemory();
});
const hashes = (nonces: readonly OpenNonce[], nowMs: number) =>
  chooseSends(nonces, memory, nowMs, TIMING, 100).map(({ txHash }) => txHash);

describe('chosen sends', () => {
  test('sends each unsent transaction, lowest nonce first, the newest of a nonce', () => {
    expect(hashes([signed(0, attempt('a1'), attempt('a2')), signed(1, attempt('b'))], 0)).toEqual([
      'a2',
      'b',
    ]);
  });

  test('skips a nonce with a transaction in a block, even if another is newer', () => {
    expect(hashes([signed(0, attempt('a1', { isMined: true }), attempt('a2'))], 0)).toEqual([]);
  });

  test('resends after growing pauses', () => {
    const nonces = [signed(0, attempt('a'))];
    const due = (nowMs: number) => hashes(nonces, nowMs).length > 0;
    rememberSent(memory, ['a' as TxHash], 0, 1);
    expect([due(999), due(1_000)]).toEqual([false, true]);
    rememberSent(memory, ['a' as TxHash], 1_000, 1);
    expect([due(2_999), due(3_000)]).toEqual([false, true]);
    for (let i = 0; i < 40; i += 1) rememberSent(memory, ['a' as TxHash], 3_000, 1);
    expect([due(6_999), due(7_000)]).toEqual([false, true]);
  });

  test('resends at once when a reorganisation removes the block', () => {
    rememberSent(memory, ['a' as TxHash], 0, 1);
    forgetSettled(memory, [signed(0, attempt('a', { isMined: true }))]);
    expect(hashes([signed(0, attempt('a'))], 1)).toEqual(['a']);
  });

  test.each<SendOutcome>(['NO_GAS_MONEY', 'REFUSED', 'UNDERPRICED'])(
    'also sends older transactions when the newest was %s',
    (outcome) => {
      expect(hashes([signed(0, attempt('a1'), attempt('a2', { outcome }))], 0)).toEqual(['a2', 'a1']);
    },
  );
});

describe('fee bumps', () => {
  const prices = { maxFeePerGas: 150n, maxPriorityFeePerGas: 1n };
  const bumps = (nonces: readonly OpenNonce[], ms: number, seenHeight: number, now = prices) =>
    chooseBumps(nonces, memory, { ms, databaseMs: 0, seenHeight, prices: now }, TIMING, (old) =>
      terms(old.maxFeePerGas * 2n),
    ).bumps.map((bump) => bump.nonce.nonce);
  const two = [signed(0, attempt('a')), signed(1, attempt('b'))];

  test('bumps fees only after the waiting time and two blocks', () => {
    rememberSent(memory, ['a' as TxHash, 'b' as TxHash], 0, 5);
    expect(bumps(two, 9_999, 99)).toEqual([]);
    expect(bumps(two, 10_000, 6)).toEqual([]);
    expect(bumps(two, 10_000, 7)).toEqual([0, 1]);
  });

  test('bumps only the lowest nonce while prices have not risen', () => {
    rememberSent(memory, ['a' as TxHash, 'b' as TxHash], 0, 5);
    expect(bumps(two, 10_000, 7, { ...prices, maxFeePerGas: 100n })).toEqual([0]);
  });

  test('bumps an underpriced transaction at once, but only once', () => {
    rememberSent(memory, ['a' as TxHash, 'b' as TxHash], 0, 5);
    const cheap = attempt('a', { outcome: 'UNDERPRICED' });
    expect(bumps([signed(0, cheap)], 1, 5)).toEqual([0]);
    expect(bumps([signed(0, attempt('x'), cheap)], 1, 5)).toEqual([]);
  });

  test('bumps when either the process clock or the database clock shows the wait', () => {
    const at = (ms: number, databaseMs: number) =>
      chooseBumps(two, memory, { ms, databaseMs, seenHeight: 9, prices }, TIMING, (old) => old).bumps.length;
    rememberSent(memory, ['a' as TxHash, 'b' as TxHash], 0, 5);
    rememberSent(memory, ['a' as TxHash, 'b' as TxHash], 8_000, 5);
    expect([at(10_000, -3_600_000), at(9_000, -3_600_000), at(9_000, 10_000)]).toEqual([2, 0, 2]);
  });

  test('reports the lowest nonce when the fee cap permits no bump', () => {
    const at = (ms: number) =>
      chooseBumps(two, memory, { ms, databaseMs: 0, seenHeight: 9, prices }, TIMING, () => undefined);
    rememberSent(memory, ['a' as TxHash, 'b' as TxHash], 0, 5);
    expect(at(9_000)).toEqual({ bumps: [], atCap: undefined });
    expect(at(10_000)).toMatchObject({ bumps: [], atCap: { nonce: 0 } });
  });

  test('bumps no transaction that this process has not sent', () => {
    expect(bumps(two, 99_999, 99)).toEqual([]);
  });
});

describe('foreign nonce suspects', () => {
  const at = (seenHeight: number, verifiedHeight: number) => ({ seenHeight, verifiedHeight });

  test('suspects an unmined nonce below the count once the seen block is verified', () => {
    const suspicions: Suspicions = new Map();
    const nonces = [signed(0, attempt('a')), signed(1, attempt('b'))];
    expect(chooseSuspects(nonces, 1, at(10, 8), suspicions, 0)).toEqual([]);
    expect(chooseSuspects(nonces, 1, at(11, 9), suspicions, 1)).toEqual([]);
    expect(chooseSuspects(nonces, 1, at(12, 10), suspicions, 2).map((n) => n.nonce)).toEqual([0]);
  });

  test('clears a suspicion when the block of the nonce appears', () => {
    const suspicions: Suspicions = new Map();
    chooseSuspects([signed(0, attempt('a'))], 1, at(10, 8), suspicions, 0);
    expect(
      chooseSuspects([signed(0, attempt('a', { isMined: true }))], 1, at(12, 10), suspicions, 1),
    ).toEqual([]);
    expect(suspicions.size).toBe(0);
  });
});
