import type { FailureCode } from './failure-codes.ts';

export interface EndpointHealth {
  readonly state: 'CLOSED' | 'OPEN' | 'DISABLED';
  readonly failuresInRow: number;
  /** A window starts with a failure. The counts of an expired window are ignored. */
  readonly windowBeganAt: Date | null;
  readonly windowAttempts: number;
  readonly windowFailures: number;
  readonly openings: number;
  readonly openedAt: Date | null;
  readonly closedAt: Date | null;
  /** OPEN only: time from which one delivery may be claimed as a probe. During the probe, the end of its lease. */
  readonly probeAt: Date | null;
  /** The attempt that decides whether an open endpoint closes. */
  readonly probe: { readonly eventId: string; readonly attempt: number } | null;
  readonly disabledAt: Date | null;
  readonly disabledReason: string | null;
  readonly lastFailedAt: Date | null;
  readonly lastErrorCode: FailureCode | null;
  readonly lastError: string | null;
}

export interface Evidence {
  readonly eventId: string;
  readonly attempt: number;
  readonly failure: { readonly code: FailureCode; readonly error: string } | null;
}

export interface EndpointRules {
  /** Opens after this number of consecutive failures … */
  readonly openAfterFailures: number;
  /** … or when the window has at least this number of attempts and half of them failed. */
  readonly openAfterAttempts: number;
  readonly windowMs: number;
  /** Between consecutive probes; the last pause repeats. Not empty. */
  readonly probePausesMs: readonly number[];
  /** After a close, this resets the number of openings. */
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

/** Endpoints that failed together are not probed together. */
const JITTER_SHARE = 0.2;

/**
 * Applies attempts, in the order of their ends, to an endpoint. The circuit breaker:
 *
 * | state | event | new state |
 * |---|---|---|
 * | CLOSED | a success | CLOSED, no consecutive failures |
 * | CLOSED | a failure | OPEN at a limit (`openAfterFailures`, `openAfterAttempts`), else CLOSED |
 * | OPEN, pausing | an attempt claimed before it opened | OPEN: only a probe decides |
 * | OPEN, `probeAt` has passed | a claim of one delivery | OPEN, probing: sets `probe`, and `probeAt` to the lease's end |
 * | OPEN, probing | the probe succeeds | CLOSED |
 * | OPEN, probing | the probe fails | OPEN, pausing longer |
 * | OPEN, probing | no result until `probeAt`: the process died | the next claim is the probe |
 * | CLOSED, OPEN | 410 | DISABLED |
 * | DISABLED | any | DISABLED |
 * | any | the URL is set, or an operator enables it | CLOSED, next generation: older results are ignored |
 *
 * Deliveries keep their times, order and attempts; while the breaker is open they are not claimed. When it closes,
 * waiting deliveries are due at once, with one attempt in addition to their schedule (`callbacks_due_now` of
 * libs/db/schema).
 * @param random in [0, 1)
 */
export function updateBreaker(
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
