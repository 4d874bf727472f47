import { describe, expect, test } from 'vitest';
import { openGate } from './open-gate.ts';
import type { PassContext } from './pass-deps.ts';
import { createPoolClaims } from './pool-claims.ts';
import type { WalletView } from './store/payout-store.ts';
import type { OpenNonce } from './store/nonce-facts.ts';

const key = { chain: 'ETH', wallet: '0xf' };
const LIMIT_MS = 600_000;
const STEP_MS = 60_000;
/** A driver that begins now, and whether it tells of a pool that it does not believe. */
function aDriver() {
  const told: number[] = [];
  const memory = { poolClaims: createPoolClaims(STEP_MS) };
  const timing = { poolBelievedMs: LIMIT_MS };
  const terms = { maxOpenNonces: 4 };
  const observe = { poolDisbelieved: (_key: unknown, by: number) => void told.push(by) };
  const context = { key, memory, terms, timing, observe } as unknown as PassContext;
  return { context, told, leftTo: memory.poolClaims.leftTo };
}
const nonce = (n: number, state: OpenNonce['state'], orderPk: string | null = null): OpenNonce => {
  return { nonce: n, state, orderPk, purpose: 'PAYOUT', attempts: [] };
};
const view = (nextNonce: number, ...nonces: OpenNonce[]) =>
  ({ cursor: { seen: {}, verified: {} }, nonces, nextNonce }) as unknown as WalletView;
const pausedBy = async (seen: WalletView, latest: number, highest = latest) => {
  const pending = { highest, agreed: 0, answers: 2 };
  return (await openGate(aDriver().context, seen, { atMs: 0, latest, pending })).pausedBy;
};

test('nonces are given out while the chain counts no more than there are bytes of ours for', async () => {
  expect(await pausedBy(view(3), 3)).toBeUndefined();
  expect(await pausedBy(view(3, nonce(2, 'SIGNED', 'a')), 3)).toBeUndefined();
  expect(await pausedBy(view(3, nonce(2, 'RESERVED', 'a')), 2)).toBeUndefined();
});

test('a nonce that is free, or reserved, explains nothing that the chain has', async () => {
  expect(await pausedBy(view(3), 4)).toBe('CHAIN_AHEAD');
  // Given out and freed before the backup; signed with after it, and that is forgotten.
  expect(await pausedBy(view(5, nonce(3, 'RESERVED'), nonce(4, 'RESERVED')), 4)).toBe('CHAIN_AHEAD');
  expect(await pausedBy(view(5, nonce(3, 'RESERVED', 'a'), nonce(4, 'SIGNED', 'b')), 4)).toBe('CHAIN_AHEAD');
});

test('what waits in the pool of a single source is enough to wait', async () => {
  expect(await pausedBy(view(3, nonce(2, 'SIGNED', 'a')), 2, 3)).toBeUndefined();
  expect(await pausedBy(view(3, nonce(2, 'SIGNED', 'a')), 2, 4)).toBe('CHAIN_AHEAD');
  // Beside a gap of ours nothing can wait in a pool but what is not ours.
  expect(await pausedBy(view(5, nonce(3, 'RESERVED'), nonce(4, 'SIGNED', 'b')), 3, 5)).toBe('CHAIN_AHEAD');
});

describe('the pool of one source alone, which the other one contradicts,', () => {
  const alone = { highest: 6, agreed: 3, answers: 2 };
  const quiet = { highest: 3, agreed: 3, answers: 2 };
  /** Looks a minute after another; what each of them says of the wallet whose next nonce is 3. 'behind': no scan is there. */
  async function looks(...pendings: readonly (typeof alone | 'behind')[]) {
    const { context, told, leftTo } = aDriver();
    const paused: boolean[] = [];
    for (const [minute, said] of pendings.entries()) {
      const atMs = minute * STEP_MS;
      const [seen, pending] =
        said === 'behind' ? ([{ ...view(3), cursor: null }, quiet] as const) : ([view(3), said] as const);
      const { pausedBy: by } = await openGate(context, seen, { atMs, latest: 3, pending });
      paused.push(by === 'CHAIN_AHEAD');
    }
    return { paused, told, leftTo: leftTo() };
  }
  const times = <T>(count: number, what: T) => Array.from({ length: count }, () => what);

  test('stops signing for so long and no longer, with an alarm; no payout gets what it claims', async () => {
    const { paused, told, leftTo } = await looks(...times(13, alone));
    expect(paused).toEqual([...times(10, true), ...times(3, false)]);
    expect(told).toEqual([...times(10, 0), ...times(3, 3)]);
    expect(leftTo).toBe(5);
    expect((await looks(...times(10, alone))).leftTo).toBe(-1);
  });

  test('has no more nonces used up than were ever on their way at once, however much it claims and goes on to claim', async () => {
    const claims = (highest: number) => ({ ...alone, highest });
    expect((await looks(...times(11, claims(1_000)))).leftTo).toBe(6);
    const growing = Array.from({ length: 40 }, (_, minute) => claims(4 + minute));
    expect((await looks(...times(10, alone), ...growing)).leftTo).toBe(6);
  });

  test('spends nothing of its time while nobody looks, and little by one look after a long while', async () => {
    const { context } = aDriver();
    const isPaused = async (atMs: number) =>
      (await openGate(context, view(3), { atMs, latest: 3, pending: alone })).pausedBy === 'CHAIN_AHEAD';
    for (let look = 0; look < 10; look += 1) expect(await isPaused(look * 86_400_000)).toBe(true);
    expect(await isPaused(10 * 86_400_000)).toBe(false);
    const { paused } = await looks(...times(12, [alone, 'behind' as const]).flat());
    expect(paused).toEqual(times(12, [true, false]).flat());
  });

  test('is waited for by who begins while its nonces are being filled', async () => {
    const { context, leftTo } = aDriver();
    const filling = (n: number): OpenNonce => ({ ...nonce(n, 'SIGNED'), purpose: 'CANCEL' });
    const look = (seen: WalletView) => openGate(context, seen, { atMs: 0, latest: 3, pending: quiet });
    await look(view(6, filling(3), filling(4), nonce(5, 'SIGNED', 'a')));
    expect(leftTo()).toBe(4);
    // What is filled later is a gap of its own, and nobody's claim.
    await look(view(8, filling(7)));
    expect(leftTo()).toBe(4);
  });

  test('wins nothing by stopping now and then', async () => {
    const { paused } = await looks(...times(12, [alone, alone, quiet]).flat());
    // Of each three minutes one counts: the tenth ends with the second look of the tenth round.
    expect(paused.slice(0, 29).filter(Boolean)).toHaveLength(19);
    expect(paused.slice(29).some(Boolean)).toBe(false);
  });

  test('is believed anew once the other one, or the blocks, bore it out', async () => {
    const both = { highest: 6, agreed: 6, answers: 2 };
    const { paused } = await looks(...times(12, alone), both, ...times(10, alone));
    expect(paused.slice(10)).toEqual([false, false, true, ...times(10, true)]);
  });

  test('is waited for while nobody contradicts it: the other one does not answer, or there is no other', async () => {
    for (const pending of [
      { highest: 6, agreed: 0, answers: 1 },
      { highest: 6, agreed: 6, answers: 1 },
    ])
      expect((await looks(...times(30, pending))).paused).toEqual(times(30, true));
  });

  test('and what blocks say stops signing as ever', async () => {
    const { context } = aDriver();
    for (let minute = 0; minute < 30; minute += 1) {
      const gate = await openGate(context, view(3), { atMs: minute * 60_000, latest: 4, pending: alone });
      expect(gate.pausedBy).toBe('CHAIN_AHEAD');
    }
  });
});
