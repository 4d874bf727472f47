import type { FailureCode } from './failure-codes.ts';

/** What is known of a merchant's endpoint. */
export interface EndpointHealth {
  readonly state: 'CLOSED' | 'OPEN' | 'DISABLED';
  readonly failuresInRow: number;
  /** A window begins with a failure; what is counted in one that has passed says nothing any more. */
  readonly windowBeganAt: Date | null;
  readonly windowAttempts: number;
  readonly windowFailures: number;
  /** In a row, without a time of health in between. */
  readonly openings: number;
  readonly openedAt: Date | null;
  readonly closedAt: Date | null;
  /** Of an open one: from here on one delivery may be claimed. While it is under way, the end of its lease. */
  readonly probeAt: Date | null;
  /** The attempt that alone decides over an open one. */
  readonly probe: { readonly eventId: string; readonly attempt: number } | null;
  readonly disabledAt: Date | null;
  readonly disabledReason: string | null;
  readonly lastFailedAt: Date | null;
  readonly lastErrorCode: FailureCode | null;
  readonly lastError: string | null;
}

/** What one attempt showed of the endpoint. */
export interface Evidence {
  readonly eventId: string;
  readonly attempt: number;
  /** Null when the receiver took the callback. */
  readonly failure: { readonly code: FailureCode; readonly error: string } | null;
}

/** When an endpoint is given a rest, and for how long. */
export interface EndpointRules {
  /** It opens after so many failures in a row … */
  readonly openAfterFailures: number;
  /** … or when of at least so many attempts in the window half have failed. */
  readonly openAfterAttempts: number;
  readonly windowMs: number;
  /** Rests before the probes, the last of them from then on. Not empty. */
  readonly probePausesMs: readonly number[];
  /** So long after it closed, an opening is the first again. */
  readonly recoveredAfterMs: number;
}

export const DEFAULT_ENDPOINT_RULES: EndpointRules = {
  openAfterFailures: 5,
  openAfterAttempts: 20,
  windowMs: 60_000,
  probePausesMs: [2_000, 5_000, 10_000, 20_000, 40_000, 60_000],
  recoveredAfterMs: 600_000,
};

export const UNKNOWN_ENDPOINT: EndpointHealth = {
  state: 'CLOSED',
  failuresInRow: 0,
  windowBeganAt: null,
  windowAttempts: 0,
  windowFailures: 0,
  openings: 0,
  openedAt: null,
  closedAt: null,
  probeAt: null,
  probe: null,
  disabledAt: null,
  disabledReason: null,
  lastFailedAt: null,
  lastErrorCode: null,
  lastError: null,
};

/** Longest extra rest, as a share: endpoints that fell together are not probed together. */
const JITTER_SHARE = 0.2;

/**
 * What some attempts, in the order of their ends, make of an endpoint. The breaker:
 *
 * | state | what is seen | becomes |
 * |---|---|---|
 * | CLOSED | a success | CLOSED, no failures in a row |
 * | CLOSED | a failure | OPEN when it was the last straw (`openAfterFailures`, `openAfterAttempts`), else CLOSED |
 * | OPEN, resting | an attempt claimed before it opened | OPEN: only a probe decides |
 * | OPEN, `probeAt` has passed | a claim of one delivery | OPEN, probing: `probe` is set, `probeAt` the end of its lease |
 * | OPEN, probing | the probe's success | CLOSED |
 * | OPEN, probing | the probe's failure | OPEN, resting longer |
 * | OPEN, probing | nothing until `probeAt`: its process died | the next claim is the probe |
 * | CLOSED, OPEN | 410 | DISABLED |
 * | DISABLED | anything | DISABLED |
 * | any | the URL is set, or an operator enables it | CLOSED, next generation: older evidence is not heard |
 *
 * Deliveries don't know of it: they keep their times, order and attempts, and just are not claimed meanwhile. When it
 * closes, what waits is due at once, by an attempt on top of its schedule (`callbacks_due_now` of libs/db/schema).
 * @param random in [0, 1)
 */
export function judgeEndpoint(
  health: EndpointHealth,
  evidence: readonly Evidence[],
  now: Date,
  rules: EndpointRules,
  random: () => number,
): EndpointHealth {
  return evidence.reduce((known, one) => judgeOne(known, one, now, rules, random), health);
}

function judgeOne(
  health: EndpointHealth,
  evidence: Evidence,
  now: Date,
  rules: EndpointRules,
  random: () => number,
): EndpointHealth {
  const { failure } = evidence;
  const noted: EndpointHealth =
    failure === null
      ? health
      : { ...health, lastFailedAt: now, lastErrorCode: failure.code, lastError: failure.error };
  if (health.state === 'DISABLED') return noted;
  if (failure?.code === 'GONE') return disable(noted, now, failure.error);
  if (health.state === 'CLOSED') return count(noted, failure !== null, now, rules, random);
  const isProbe = health.probe?.eventId === evidence.eventId && health.probe.attempt === evidence.attempt;
  if (!isProbe) return noted;
  return failure === null ? close(health, now) : open(noted, now, rules, random);
}

function disable(health: EndpointHealth, now: Date, reason: string): EndpointHealth {
  return {
    ...health,
    state: 'DISABLED',
    disabledAt: now,
    disabledReason: reason,
    probeAt: null,
    probe: null,
  };
}

function count(
  health: EndpointHealth,
  failed: boolean,
  now: Date,
  rules: EndpointRules,
  random: () => number,
): EndpointHealth {
  const failuresInRow = failed ? health.failuresInRow + 1 : 0;
  const counted = { ...health, failuresInRow, ...countWindow(health, failed, now, rules) };
  const mostFail =
    counted.windowAttempts >= rules.openAfterAttempts && counted.windowFailures * 2 >= counted.windowAttempts;
  return failed && (failuresInRow >= rules.openAfterFailures || mostFail)
    ? open(counted, now, rules, random)
    : counted;
}

type Window = Pick<EndpointHealth, 'windowBeganAt' | 'windowAttempts' | 'windowFailures'>;

function countWindow(health: Window, failed: boolean, now: Date, rules: EndpointRules): Window {
  const { windowBeganAt } = health;
  if (windowBeganAt !== null && now.getTime() - windowBeganAt.getTime() < rules.windowMs) {
    return {
      windowBeganAt,
      windowAttempts: health.windowAttempts + 1,
      windowFailures: health.windowFailures + (failed ? 1 : 0),
    };
  }
  return failed
    ? { windowBeganAt: now, windowAttempts: 1, windowFailures: 1 }
    : { windowBeganAt: null, windowAttempts: 0, windowFailures: 0 };
}

function open(health: EndpointHealth, now: Date, rules: EndpointRules, random: () => number): EndpointHealth {
  const recovered =
    health.state === 'CLOSED' &&
    (health.closedAt === null || now.getTime() - health.closedAt.getTime() >= rules.recoveredAfterMs);
  const openings = recovered ? 1 : health.openings + 1;
  const pauseMs = rules.probePausesMs[Math.min(openings, rules.probePausesMs.length) - 1] ?? 0;
  return {
    ...health,
    state: 'OPEN',
    openings,
    openedAt: health.state === 'OPEN' ? health.openedAt : now,
    probeAt: new Date(now.getTime() + pauseMs * (1 + JITTER_SHARE * random())),
    probe: null,
  };
}

function close(health: EndpointHealth, now: Date): EndpointHealth {
  return {
    ...health,
    state: 'CLOSED',
    failuresInRow: 0,
    windowBeganAt: null,
    windowAttempts: 0,
    windowFailures: 0,
    openedAt: null,
    closedAt: now,
    probeAt: null,
    probe: null,
  };
}
