import { expect, test } from 'vitest';
import { readerError } from '@opentill/chain/reader-error';
import type { TxHash } from '@opentill/chain/transfer';
import { createObstaclePauses } from '../wallet/obstacle-pauses.ts';
import type { ExpiringView } from './store/attempt-store.ts';
import { expireDeadAttempts } from './expire-dead-attempts.ts';
import type { ExpiringContext } from './pass-deps.ts';

const attempts = Array.from({ length: 8 }, (_, place) => ({
  txHash: `tx-${place}`,
  hasBytes: true,
  minedHeight: null,
  validity: { expiresMs: 1_000, uniqueMs: place + 1, reference: { height: 10 + place, hash: `b${place}` } },
}));
const view = { attempts, cursor: { overMs: 1_000 } } as unknown as ExpiringView;

/** `fail` returns the error that nodes give when asked for these hashes. */
async function pass(
  fail: (asked: readonly string[]) => Error | undefined,
  seen = view,
  onUnrecorded: (hashes: readonly string[]) => unknown = () => undefined,
) {
  const provenDead: string[] = [];
  const waiting: string[] = [];
  const asked: (readonly string[])[] = [];
  const context = {
    key: { chain: 'TRON_TEST', wallet: 'w' },
    monotonicMs: () => 0,
    rules: { policy: { maxAttemptsWithoutDecision: 2 } },
    memory: { deathProofPauses: createObstaclePauses() },
    signal: new AbortController().signal,
    observe: {
      unrecorded: (_: unknown, hashes: readonly string[]) => onUnrecorded(hashes),
      provenDead: () => undefined,
      forged: () => undefined,
      unproven: (_: unknown, unproven: readonly { readonly txHash: string }[]) =>
        unproven.forEach(({ txHash }) => waiting.push(txHash)),
    },
    store: {
      readRaw: (hashes: readonly TxHash[]) =>
        Promise.resolve(new Map(hashes.map((txHash) => [txHash, new Uint8Array(1)]))),
      markDead: (_: unknown, hashes: readonly string[]) =>
        Promise.resolve((provenDead.push(...hashes), { dead: hashes, waiting: [] })),
    },
    sender: {
      differenceOf: () => undefined,
      findInBlocks(hashes: readonly string[]) {
        asked.push(hashes);
        const failure = fail(hashes);
        if (failure !== undefined) return Promise.reject(failure);
        return Promise.resolve({ found: new Set(), end: [{}, { height: 99, hash: 'end' }] });
      },
    },
  } as unknown as ExpiringContext;
  const outcome = await expireDeadAttempts(context, seen).catch((error: Error) => error.message);
  return { outcome, provenDead: provenDead.toSorted(), waiting: waiting.toSorted(), asked: asked.length };
}

test('searches all overdue attempts at once', async () => {
  expect(await pass(() => undefined)).toMatchObject({
    outcome: true,
    asked: 1,
    provenDead: attempts.map(({ txHash }) => txHash),
  });
});

test('expires the other attempts when nodes disagree on one', async () => {
  for (const { txHash: bad } of attempts) {
    const { outcome, provenDead, waiting, asked } = await pass((hashes) =>
      hashes.includes(bad) ? readerError('INCONSISTENT_ANSWER', 'the blocks are not linked') : undefined,
    );
    expect({ waiting, outcome, provenDead }).toEqual({
      waiting: [bad],
      outcome: true,
      provenDead: attempts.map(({ txHash }) => txHash).filter((txHash) => txHash !== bad),
    });
    expect(asked).toBeLessThanOrEqual(8);
  }
});

test('expires the other attempts when nodes have pruned the blocks of one', async () => {
  const { outcome, provenDead } = await pass((hashes) =>
    hashes.includes('tx-0') ? readerError('BLOCK_NOT_FOUND', 'not kept') : undefined,
  );
  expect({ outcome, provenDead }).toEqual({
    outcome: true,
    provenDead: attempts.slice(1).map(({ txHash }) => txHash),
  });
});

test('reports attempts that the own scan read in a verified block, and skips them', async () => {
  const reported: string[] = [];
  const landed = {
    ...view,
    attempts: attempts.map((one, place) => ({ ...one, hasLanded: place < 3 })),
  } as unknown as ExpiringView;
  const { provenDead } = await pass(
    () => undefined,
    landed,
    (hashes) => reported.push(...hashes),
  );
  expect(reported).toEqual(['tx-0', 'tx-1', 'tx-2']);
  expect(provenDead).toEqual(attempts.slice(3).map(({ txHash }) => txHash));
});

test('asks an unavailable node once and reports all attempts as unproven', async () => {
  const away = await pass(() => readerError('RPC_UNAVAILABLE', 'away'));
  expect(away).toEqual({
    outcome: 'away',
    asked: 1,
    provenDead: [],
    waiting: attempts.map(({ txHash }) => txHash),
  });
});

test('asks no node while the own scan does not prove the absence', async () => {
  const unproven = {
    ...view,
    attempts: attempts.map((one, place) => ({ ...one, ...(place < 3 && { unprovenBecause: 'a gap' }) })),
  } as unknown as ExpiringView;
  const asked: string[] = [];
  const { provenDead, waiting } = await pass((hashes) => void asked.push(...hashes), unproven);
  expect(waiting).toEqual(['tx-0', 'tx-1', 'tx-2']);
  expect([provenDead, asked.toSorted()]).toEqual([attempts.slice(3).map(({ txHash }) => txHash), provenDead]);
});
