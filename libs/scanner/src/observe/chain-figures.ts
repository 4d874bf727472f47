import type { ChainReader } from '@opentill/chain/chain-reader';
import { chainStatusText, type ChainStatus } from '@opentill/domain/chain-status';
import type { CheckResult } from '@opentill/runtime/health';
import type { ScanNetwork } from '../scan-network.ts';
import type { AlarmKind, ChainCondition } from './alarms.ts';

/** Figures of own transactions for metrics and alarms. */
export interface FateFigures {
  /** Own transactions whose outcome is not final. */
  readonly open: number;
  /** When the oldest of those that are in no block was signed, in seconds since 1970. */
  readonly oldestUnminedSeconds: number | undefined;
  /** Since when sources have differed on the one that waits longest. */
  readonly waitingSinceMs: number | undefined;
}

/** What is known of a chain between two scrapes. */
export interface ChainFigures extends Omit<
  { -readonly [Key in keyof ChainCondition]: ChainCondition[Key] },
  'network' | 'headTimeSeconds' | 'sources'
> {
  network?: ScanNetwork;
  sources?: ChainReader['sources'];
  /** Time of the newest block that a head named. */
  headTimeSeconds?: number | undefined;
  /** When this process began to watch the chain. */
  watchedAtMs: number;
  openedAtMs: number;
  headMovedAtMs: number;
  verifiedMovedAtMs: number;
  tickedAtMs?: number;
  /** Code of the last failed round. */
  failedBy?: string;
  /** Undefined before own transactions were asked for. */
  own?: FateFigures | undefined;
}

export const NOT_FAILING: ChainFigures['verifying'] = { failingSinceMs: undefined, contradictionsInRow: 0 };

/** Nothing is known yet. */
export function createChainFigures(): ChainFigures {
  return {
    watchedAtMs: 0,
    openedAtMs: 0,
    headMovedAtMs: 0,
    verifiedMovedAtMs: 0,
    verifying: NOT_FAILING,
    fates: {},
    tokenWarnings: [],
  };
}

type Alarms = ReadonlyMap<AlarmKind, string>;

/** A chain whose rounds fail for so long is failing. */
const FAILING_AFTER_MS = 30_000;
const RUNNING: ChainStatus = { state: 'RUNNING', reason: null, detail: null };

/** State of the chain for this process, which the database, metrics and `/readyz` share. */
export function statusOf(figure: ChainFigures, alarms: Alarms, nowMs: number): ChainStatus {
  const { leftOut, halted, pauseReason } = figure;
  if (leftOut !== undefined) return { state: 'LEFT_OUT', reason: leftOut.code, detail: leftOut.detail };
  if (halted !== undefined) return { state: 'HALTED', reason: halted, detail: null };
  if (pauseReason !== undefined) return { state: 'PAUSED', reason: null, detail: pauseReason };
  const sinceMs = nowMs - (figure.tickedAtMs ?? figure.watchedAtMs);
  if (sinceMs > FAILING_AFTER_MS)
    return { state: 'FAILING', reason: figure.failedBy ?? 'NO_ANSWER', detail: 'no round for 30 s' };
  if (figure.tickedAtMs === undefined) return { state: 'STARTING', reason: null, detail: null };
  return alarms.has('head-stale') ? { state: 'FAILING', reason: 'HEAD_STALE', detail: null } : RUNNING;
}

/** Result of the readiness check of the chain: its state, and while it runs how far it is. */
export function healthOf(figure: ChainFigures, alarms: Alarms, nowMs: number): CheckResult {
  const status = statusOf(figure, alarms, nowMs);
  if (status.state !== 'RUNNING') return { ok: status.state === 'PAUSED', detail: chainStatusText(status) };
  const { state } = figure;
  if (state === undefined) return { ok: true, detail: 'standby' };
  return {
    ok: true,
    detail: [`verified ${state.verifiedHeight} of ${state.head.height}`, ...alarms.values()].join('; '),
  };
}
