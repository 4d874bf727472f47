import { describe, expect, test } from 'vitest';
import { openGate } from './open-gate.ts';
import type { PassContext } from './pass-deps.ts';
import { createPoolClaims } from './pool-claims.ts';
import type { WalletView } from './store/payout-store.ts';
import type { OpenNonce } from './store/nonce-facts.ts';

const key = { chain: 'ETH', wallet: '0xf' };
const LIMIT_MS = 600_000;
const STEP_MS = 60_000;
function newDriver() {
  const alarms: number[] = [];
  const memory = { poolClaims: createPoolClaims(STEP_MS) };
  const timing = { poolBelievedMs: LIMIT_MS };
  const terms = { maxOpenNonces: 4 };
  const observe = { poolDisbelieved: (_key: unknown, by: number) => void alarms.push(by) };
  const context = { key, memory, terms, timing, observe } as unknown as PassContext;
  return { context, alarms, leftTo: memory.poolClaims.leftTo };
}
const nonce = (n: number, state: OpenNonce['state'], orderPk: string | null = null): OpenNonce => {
  return { nonce: n, state, orderPk, purpose: 'PAYOUT', attempts: [] };
};
const view = (nextNonce: number, ...nonces: OpenNonce[]) =>
  ({ cursor: { seen: {}, verified: {} }, nonces, nextNonce }) as unknown as WalletView;
const pausedBy = async (seen: WalletView, latest: number, highest = latest) => {
  const pending = { highest, agreed: 0, answers: 2 };
  return (await openGate(newDriver().context, seen, { atMs: 0, latest, pending })).pausedBy;
};

test('permits nonces while the chain counts no more than the signed ones', async () => {
  expect(await pausedBy(view(3), 3)).toBeUndefined();
  expect(await pausedBy(view(3, nonce(2, 'SIGNED', 'a')), 3)).toBeUndefined();
  expect(await pausedBy(view(3, nonce(2, 'RESERVED', 'a')), 2)).toBeUndefined();
});

test('pauses when the chain counts a nonce that is free or reserved', async () => {
  expect(await pausedBy(view(3), 4)).toBe('CHAIN_AHEAD');
  // Assigned and freed before the backup. Signed after it, which the database does not know.
  expect(await pausedBy(view(5, nonce(3, 'RESERVED'), nonce(4, 'RESERVED')), 4)).toBe('CHAIN_AHEAD');
  expect(await pausedBy(view(5, nonce(3, 'RESERVED', 'a'), nonce(4, 'SIGNED', 'b')), 4)).toBe('CHAIN_AHEAD');
});

test('pauses when the pool of a single source holds unknown transactions', async () => {
  expect(await pausedBy(view(3, nonce(2, 'SIGNED', 'a')), 2, 3)).toBeUndefined();
  expect(await pausedBy(view(3, nonce(2, 'SIGNED', 'a')), 2, 4)).toBe('CHAIN_AHEAD');
  // Above a gap of ours, only foreign transactions can wait in a pool.
  expect(await pausedBy(view(5, nonce(3, 'RESERVED'), nonce(4, 'SIGNED', 'b')), 3, 5)).toBe('CHAIN_AHEAD');
});

describe('contradicted pool of a single source', () => {
  const contradicted = { highest: 6, agreed: 3, answers: 2 };
  const quiet = { highest: 3, agreed: 3, answers: 2 };
  /** One minute apart, for a wallet whose next nonce is 3. 'behind': the scanner has no cursor. */
  async function runChecks(...pendings: readonly (typeof contradicted | 'behind')[]) {
    const { context, alarms, leftTo } = newDriver();
    const paused: boolean[] = [];
    for (const [minute, given] of pendings.entries()) {
      const atMs = minute * STEP_MS;
      const [seen, pending] =
        given === 'behind' ? ([{ ...view(3), cursor: null }, quiet] as const) : ([view(3), given] as const);
      const { pausedBy: by } = await openGate(context, seen, { atMs, latest: 3, pending });
      paused.push(by === 'CHAIN_AHEAD');
    }
    return { paused, alarms, leftTo: leftTo() };
  }
  const times = <T>(count: number, what: T) => Array.from({ length: count }, () => what);

  test('pauses ten minutes for a contradicted pool, then signs past its nonces', async () => {
    const { paused, alarms, leftTo } = await runChecks(...times(13, contradicted));
    expect(paused).toEqual([...times(10, true), ...times(3, false)]);
    expect(alarms).toEqual([...times(10, 0), ...times(3, 3)]);
    expect(leftTo).toBe(5);
    expect((await runChecks(...times(10, contradicted))).leftTo).toBe(-1);
  });

  test('uses up at most maxOpenNonces nonces, however many a pool claims', async () => {
    const claims = (highest: number) => ({ ...contradicted, highest });
    expect((await runChecks(...times(11, claims(1_000)))).leftTo).toBe(6);
    const growing = Array.from({ length: 40 }, (_, minute) => claims(4 + minute));
    expect((await runChecks(...times(10, contradicted), ...growing)).leftTo).toBe(6);
  });

  test('counts at most one step of pool time for a long pause between checks', async () => {
    const { context } = newDriver();
    const isPaused = async (atMs: number) =>
      (await openGate(context, view(3), { atMs, latest: 3, pending: contradicted })).pausedBy ===
      'CHAIN_AHEAD';
    for (let check = 0; check < 10; check += 1) expect(await isPaused(check * 86_400_000)).toBe(true);
    expect(await isPaused(10 * 86_400_000)).toBe(false);
    const { paused } = await runChecks(...times(12, [contradicted, 'behind' as const]).flat());
    expect(paused).toEqual(times(12, [true, false]).flat());
  });

  test('waits for nonces that were being filled when the driver began', async () => {
    const { context, leftTo } = newDriver();
    const filling = (n: number): OpenNonce => ({ ...nonce(n, 'SIGNED'), purpose: 'CANCEL' });
    const check = (seen: WalletView) => openGate(context, seen, { atMs: 0, latest: 3, pending: quiet });
    await check(view(6, filling(3), filling(4), nonce(5, 'SIGNED', 'a')));
    expect(leftTo()).toBe(4);
    // A nonce that is filled later is a gap of the wallet, not a claim.
    await check(view(8, filling(7)));
    expect(leftTo()).toBe(4);
  });

  test('adds up the time of interrupted pool claims', async () => {
    const { paused } = await runChecks(...times(12, [contradicted, contradicted, quiet]).flat());
    // One of three minutes counts. The limit is reached at the second check of the tenth round.
    expect(paused.slice(0, 29).filter(Boolean)).toHaveLength(19);
    expect(paused.slice(29).some(Boolean)).toBe(false);
  });

  test('believes a pool again after another source or the blocks confirmed it', async () => {
    const both = { highest: 6, agreed: 6, answers: 2 };
    const { paused } = await runChecks(...times(12, contradicted), both, ...times(10, contradicted));
    expect(paused.slice(10)).toEqual([false, false, true, ...times(10, true)]);
  });

  test('pauses without limit while no other source contradicts the pool', async () => {
    for (const pending of [
      { highest: 6, agreed: 0, answers: 1 },
      { highest: 6, agreed: 6, answers: 1 },
    ])
      expect((await runChecks(...times(30, pending))).paused).toEqual(times(30, true));
  });

  test('pauses for nonces that blocks show, even after the time for pools', async () => {
    const { context } = newDriver();
    for (let minute = 0; minute < 30; minute += 1) {
      const gate = await openGate(context, view(3), {
        atMs: minute * 60_000,
        latest: 4,
        pending: contradicted,
      });
      expect(gate.pausedBy).toBe('CHAIN_AHEAD');
    }
  });
});
