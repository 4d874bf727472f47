import type { ChainReader } from '@opentill/chain/chain-reader';
import { chainStatusText, type ChainStatus } from '@opentill/domain/chain-status';
import type { CheckResult } from '@opentill/runtime/health';
import type { ScanNetwork } from '../scan-network.ts';
import type { AlarmKind, ChainCondition } from './alarms.ts';

export interface FateFigures {
  readonly open: number;
  /** Signing time in seconds since 1970. */
  readonly oldestUnminedSeconds: number | undefined;
  readonly waitingSinceMs: number | undefined;
}

export interface ChainFigures extends Omit<
  { -readonly [Key in keyof ChainCondition]: ChainCondition[Key] },
  'network' | 'headTimeSeconds' | 'sources' | 'restedMs'
> {
  network?: ScanNetwork;
  sources?: ChainReader['sources'];
  headTimeSeconds?: number | undefined;
  isLook?: boolean | undefined;
  /** When this process started to scan the chain or to wait for its lease. */
  watchedAtMs: number;
  openedAtMs: number;
  headMovedAtMs: number;
  verifiedMovedAtMs: number;
  tickedAtMs?: number;
  /** Since then the nodes are left unasked. */
  restingSinceMs?: number | undefined;
  /** Length of the rest before the current round; 0 after a successful round. */
  restedMs: number;
  /** The last round that failed. */
  failedAtMs?: number;
  failedBy?: string;
  own?: FateFigures | undefined;
}

export const NOT_FAILING: ChainFigures['verifying'] = { failingSinceMs: undefined, contradictionsInRow: 0 };

export function createChainFigures(): ChainFigures {
  return {
    watchedAtMs: 0,
    openedAtMs: 0,
    headMovedAtMs: 0,
    verifiedMovedAtMs: 0,
    restedMs: 0,
    verifying: NOT_FAILING,
    fates: {},
    tokenWarnings: [],
  };
}

type Alarms = ReadonlyMap<AlarmKind, string>;

const FAILING_AFTER_MS = 30_000;
const RUNNING: ChainStatus = { state: 'RUNNING', reason: null, detail: null };

/** Written to the database, metrics and `/readyz`. */
export function statusOf(figure: ChainFigures, alarms: Alarms, nowMs: number): ChainStatus {
  const { leftOut, halted, pauseReason } = figure;
  if (leftOut !== undefined) return { state: 'LEFT_OUT', reason: leftOut.code, detail: leftOut.detail };
  if (halted !== undefined) return { state: 'HALTED', reason: halted, detail: null };
  if (pauseReason !== undefined) return { state: 'PAUSED', reason: null, detail: pauseReason };
  const sinceMs = nowMs - (figure.tickedAtMs ?? figure.watchedAtMs);
  if (sinceMs > FAILING_AFTER_MS)
    return {
      state: 'FAILING',
      reason: figure.failedBy ?? 'NO_ANSWER',
      detail: 'no successful round for 30 s',
    };
  if (figure.tickedAtMs === undefined) return { state: 'STARTING', reason: null, detail: null };
  return alarms.has('head-stale') ? { state: 'FAILING', reason: 'HEAD_STALE', detail: null } : RUNNING;
}

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
