import type { ReaderErrorCode } from '@opentill/chain/reader-error';
import { GatewayError } from '@opentill/domain/gateway-error';
import { RETRY_AFTER_MS_MAX } from './rate-limiter.ts';

/** Statistics; older answers weigh less. */
export interface SourceRecord {
  noteAnswer(): void;
  noteLatency(ms: number): void;
  noteFailure(error: unknown): void;
  /** End of the backoff by `nowMs`; in the past when the source is not in backoff. */
  backoffUntilMs(): number;
  /** No usable answer since then, including backoff, by `nowMs`; undefined after a good one. */
  failingSinceMs(): number | undefined;
  /** Milliseconds after that moment without a usable answer; an upper bound. */
  failedMsSince(atMs: number): number;
  /** It reported another network and has not answered since. */
  isOfAnotherChain(): boolean;
  /** 0 (no recent request succeeded) to 1 (all did). */
  score(): number;
  /** Lower is better; the milliseconds of `waitMs` count as latency. */
  penalty(waitMs: number): number;
  lastErrorCode(): ReaderErrorCode | null;
}

export interface SourceRecordConfig {
  /** Monotonic. */
  readonly nowMs: () => number;
  readonly random: () => number;
}

/** 0 to 1. Codes that are missing here do not count against the source. */
const WEIGHTS: Partial<Record<ReaderErrorCode, number>> = {
  RPC_UNAVAILABLE: 1,
  RPC_FORBIDDEN: 1,
  WRONG_CHAIN: 1,
  INCONSISTENT_ANSWER: 0.7,
  RPC_RATE_LIMITED: 0.5,
  RPC_REFUSED: 0.5,
  // A node may be a block behind at any moment, and not every node offers every method.
  BLOCK_NOT_FOUND: 0.2,
  RPC_METHOD_MISSING: 0.2,
  FINALITY_UNAVAILABLE: 0.1,
};
const NEWEST_SHARE = 0.3;
const LATENCY_SHARE = 0.2;
const FAILURES_HALVED_MS = 30_000;
const LATENCY_HALVED_MS = 120_000;
const BACKOFF_MS = 250;
const BACKOFF_MS_MAX = 30_000;
/** An operator must correct the access, so a rare attempt is enough. */
const FORBIDDEN_BACKOFF_MS = 30_000;
const SPELLS_KEPT = 32;
const LATENCY_MS_MIN = 25;
const FAILURE_PENALTY = 8;

export function createSourceRecord({ nowMs, random }: SourceRecordConfig): SourceRecord {
  let failureRate = 0;
  let failureRateAtMs = nowMs();
  let latencyMs = LATENCY_MS_MIN;
  let latencyAtMs = nowMs();
  let failuresInRow = 0;
  let backoffUntilMs = -Infinity;
  let failingSinceMs: number | undefined;
  let spells: readonly Spell[] = [];
  let otherChain = false;
  let lastErrorCode: ReaderErrorCode | null = null;

  const failureRateNow = (): number =>
    failureRate * 0.5 ** ((nowMs() - failureRateAtMs) / FAILURES_HALVED_MS);
  const latencyNow = (): number => latencyMs * 0.5 ** ((nowMs() - latencyAtMs) / LATENCY_HALVED_MS);

  function count(weight: number): void {
    failureRate = failureRateNow() * (1 - NEWEST_SHARE) + weight * NEWEST_SHARE;
    failureRateAtMs = nowMs();
  }

  function backoffMsAfter(code: ReaderErrorCode, retryAfterMs: unknown): number {
    if (code === 'RPC_FORBIDDEN') return FORBIDDEN_BACKOFF_MS;
    if (typeof retryAfterMs === 'number') return Math.min(retryAfterMs, RETRY_AFTER_MS_MAX);
    const ceilingMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** Math.min(failuresInRow - 1, 20));
    return ceilingMs / 2 + (ceilingMs / 2) * random();
  }

  return {
    noteAnswer() {
      count(0);
      if (failingSinceMs !== undefined)
        spells = withoutTooMany([...spells, { fromMs: failingSinceMs, toMs: nowMs() }]);
      failingSinceMs = undefined;
      failuresInRow = 0;
      backoffUntilMs = -Infinity;
      otherChain = false;
    },
    noteLatency(ms) {
      latencyMs = latencyNow() * (1 - LATENCY_SHARE) + ms * LATENCY_SHARE;
      latencyAtMs = nowMs();
    },
    noteFailure(error) {
      if (!(error instanceof GatewayError)) return;
      const code = error.code as ReaderErrorCode;
      const weight = WEIGHTS[code];
      // A call that the limiter held back is no information about the source.
      if (weight === undefined || error.context['notSent'] === true) return;
      count(weight);
      lastErrorCode = code;
      if (code === 'WRONG_CHAIN') otherChain = true;
      const backoffCodes = ['RPC_UNAVAILABLE', 'RPC_RATE_LIMITED', 'RPC_FORBIDDEN', 'WRONG_CHAIN'];
      if (!backoffCodes.includes(code)) return;
      // Requests that are in flight together fail together.
      if (backoffUntilMs <= nowMs()) failuresInRow += 1;
      failingSinceMs ??= nowMs();
      const untilMs = nowMs() + backoffMsAfter(code, error.context['retryAfterMs']);
      backoffUntilMs = Math.max(backoffUntilMs, untilMs);
    },
    backoffUntilMs: () => backoffUntilMs,
    failingSinceMs: () => failingSinceMs,
    failedMsSince(atMs) {
      const all =
        failingSinceMs === undefined ? spells : [...spells, { fromMs: failingSinceMs, toMs: nowMs() }];
      return all.reduce((sum, { fromMs, toMs }) => sum + Math.max(0, toMs - Math.max(fromMs, atMs)), 0);
    },
    isOfAnotherChain: () => otherChain,
    score: () => 1 - failureRateNow(),
    penalty: (waitMs) =>
      FAILURE_PENALTY * failureRateNow() +
      Math.log2(Math.max(LATENCY_MS_MIN, latencyNow() + waitMs) / LATENCY_MS_MIN),
    lastErrorCode: () => lastErrorCode,
  };
}

interface Spell {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Merges the two oldest periods; the time between them then counts as failing, too. */
function withoutTooMany(spells: readonly Spell[]): readonly Spell[] {
  const [first, second, ...rest] = spells;
  if (spells.length <= SPELLS_KEPT || first === undefined || second === undefined) return spells;
  return [{ fromMs: first.fromMs, toMs: second.toMs }, ...rest];
}
