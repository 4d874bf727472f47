import { describe, expect, it } from 'vitest';
import {
  updateBreaker,
  UNKNOWN_ENDPOINT,
  type EndpointHealth,
  type EndpointRules,
  type Evidence,
} from './endpoint-health.ts';

const RULES: EndpointRules = {
  openAfterFailures: 3,
  openAfterAttempts: 6,
  windowMs: 10_000,
  probePausesMs: [1_000, 4_000],
  recoveredAfterMs: 60_000,
};
const T0 = Date.parse('2026-03-01T12:00:00Z');
const at = (ms: number) => new Date(T0 + ms);
const WELL: Evidence = { eventId: 'e', attempt: 1, failure: null };
const FAILED: Evidence = { eventId: 'e', attempt: 1, failure: { code: 'SERVER_ERROR', error: 'status 500' } };
const GONE: Evidence = { eventId: 'e', attempt: 1, failure: { code: 'GONE', error: 'status 410' } };
const judge = (health: EndpointHealth, evidence: readonly Evidence[], ms = 0, random = 0) =>
  updateBreaker(health, evidence, at(ms), RULES, () => random);
const probing = (health: EndpointHealth): EndpointHealth => ({
  ...health,
  probe: { eventId: 'probe', attempt: 9 },
  probeAt: at(99_000),
});
const probe = (evidence: Evidence): Evidence => ({ ...evidence, eventId: 'probe', attempt: 9 });
const OPEN = judge(UNKNOWN_ENDPOINT, [FAILED, FAILED, FAILED]);

describe('updateBreaker', () => {
  it('opens an endpoint after consecutive failures without a success between', () => {
    expect(judge(UNKNOWN_ENDPOINT, [FAILED, FAILED])).toMatchObject({ state: 'CLOSED', failuresInRow: 2 });
    expect(judge(UNKNOWN_ENDPOINT, [FAILED, FAILED, WELL, FAILED, FAILED])).toMatchObject({
      state: 'CLOSED',
    });
    expect(OPEN).toMatchObject({
      state: 'OPEN',
      failuresInRow: 3,
      openings: 1,
      openedAt: at(0),
      probeAt: at(1_000),
      probe: null,
      lastErrorCode: 'SERVER_ERROR',
      lastError: 'status 500',
    });
  });

  it("opens on a failure when half of a window's attempts failed", () => {
    const half = [FAILED, WELL, FAILED, WELL, FAILED];
    const almost = judge(UNKNOWN_ENDPOINT, half);
    expect(almost).toMatchObject({ state: 'CLOSED', windowAttempts: 5, windowFailures: 3 });
    expect(judge(almost, [WELL])).toMatchObject({ state: 'CLOSED', windowAttempts: 6 });
    expect(judge(almost, [FAILED])).toMatchObject({ state: 'OPEN' });
    expect(judge(almost, [FAILED], 10_000)).toMatchObject({ state: 'CLOSED', windowAttempts: 1 });
    expect(judge(almost, [WELL], 10_000)).toMatchObject({ windowBeganAt: null, windowAttempts: 0 });
    expect(judge(UNKNOWN_ENDPOINT, [WELL, WELL])).toMatchObject(UNKNOWN_ENDPOINT);
  });

  it('closes or reopens an open endpoint only by its probe', () => {
    for (const early of [WELL, FAILED])
      expect(judge(OPEN, [early])).toMatchObject({ state: 'OPEN', probeAt: at(1_000) });
    expect(judge(probing(OPEN), [WELL, { ...WELL, eventId: 'probe', attempt: 8 }])).toEqual(probing(OPEN));
    expect(judge(probing(OPEN), [probe(WELL)], 2_000)).toMatchObject({
      state: 'CLOSED',
      failuresInRow: 0,
      windowBeganAt: null,
      closedAt: at(2_000),
      openedAt: null,
      probeAt: null,
      probe: null,
    });
  });

  it('pauses longer after each failed probe, up to a limit, with jitter on top', () => {
    let health = OPEN;
    for (const [openings, pauseMs] of [
      [2, 4_000],
      [3, 4_000],
    ] as const) {
      health = judge(probing(health), [probe(FAILED)], 5_000);
      expect(health).toMatchObject({ state: 'OPEN', openings, probeAt: at(5_000 + pauseMs), probe: null });
      expect(health.openedAt).toEqual(at(0));
    }
    expect(judge(probing(OPEN), [probe(FAILED)], 0, 0.999).probeAt!.getTime()).toBeCloseTo(T0 + 4_799, -1);
  });

  it('keeps the pause length after a quick relapse and resets it after recovery', () => {
    const closed = judge(probing(OPEN), [probe(WELL)], 2_000);
    expect(judge(closed, [FAILED, FAILED, FAILED], 3_000)).toMatchObject({ openings: 2, probeAt: at(7_000) });
    expect(judge(closed, [FAILED, FAILED, FAILED], 62_000)).toMatchObject({ openings: 1 });
  });

  it('disables on 410 in every state, with time and reason, permanently', () => {
    for (const before of [UNKNOWN_ENDPOINT, OPEN, probing(OPEN)]) {
      const disabled = judge(before, [GONE], 500);
      expect(disabled).toMatchObject({
        state: 'DISABLED',
        disabledAt: at(500),
        disabledReason: 'status 410',
        probeAt: null,
        probe: null,
      });
      expect(judge(disabled, [WELL, probe(WELL), FAILED, GONE], 900)).toMatchObject({
        state: 'DISABLED',
        disabledAt: at(500),
      });
    }
  });
});

/** Independent second model of the breaker's table in endpoint-health.ts, without windows and pauses. */
type Simple = { state: 'CLOSED' | 'OPEN' | 'DISABLED'; row: number; probing: boolean };
const STEPS = [
  'well',
  'failed',
  'gone',
  'probe claimed',
  'probe well',
  'probe failed',
  'probe lost',
] as const;

function simpleStep(s: Simple, step: (typeof STEPS)[number]): Simple {
  if (s.state === 'DISABLED') return s;
  if (step === 'gone') return { state: 'DISABLED', row: s.row, probing: false };
  if (s.state === 'CLOSED') {
    if (step === 'well') return { ...s, row: 0 };
    if (step !== 'failed') return s;
    return s.row === 2 ? { state: 'OPEN', row: 3, probing: false } : { ...s, row: s.row + 1 };
  }
  if (step === 'probe claimed') return { ...s, probing: true };
  if (!s.probing) return s;
  if (step === 'probe well') return { state: 'CLOSED', row: 0, probing: false };
  return step === 'probe failed' || step === 'probe lost' ? { ...s, probing: false } : s;
}

it('matches the breaker table in every sequence of up to eight events', () => {
  const rules = { ...RULES, openAfterAttempts: 1_000 };
  let checked = 0;
  const walk = (health: EndpointHealth, simple: Simple, depth: number, path: readonly string[]): void => {
    checked += 1;
    const seen = { state: health.state, row: health.failuresInRow, probing: health.probe !== null };
    if (JSON.stringify(seen) !== JSON.stringify(simple)) {
      throw new Error(`${path.join(', ')}: ${JSON.stringify(seen)} instead of ${JSON.stringify(simple)}`);
    }
    if ((health.state === 'OPEN') !== (health.probeAt !== null))
      throw new Error(`${path.join(', ')}: probeAt`);
    if (depth === 0) return;
    for (const step of STEPS) {
      const now = at(path.length * 100);
      const apply = (one: Evidence) => updateBreaker(health, [one], now, rules, () => 0);
      const mayProbe = simple.state === 'OPEN' && !simple.probing;
      if (step === 'probe claimed' && !mayProbe) continue;
      if (step.startsWith('probe') && step !== 'probe claimed' && !simple.probing) continue;
      const next = {
        well: () => apply(WELL),
        failed: () => apply(FAILED),
        gone: () => apply(GONE),
        'probe claimed': () => probing(health),
        'probe well': () => apply(probe(WELL)),
        'probe failed': () => apply(probe(FAILED)),
        // The lease expired: the next claim is the probe, and the old one's result is ignored.
        'probe lost': () => ({ ...health, probe: null }),
      }[step]();
      walk(next, simpleStep(simple, step), depth - 1, [...path, step]);
    }
  };
  walk(UNKNOWN_ENDPOINT, { state: 'CLOSED', row: 0, probing: false }, 8, []);
  expect(checked).toBeGreaterThan(5_000);
});
