import { createHash } from 'node:crypto';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { CheckFailure } from '@opentill/chain/check-failure';
import type { EpochCommittee } from '@opentill/chain/epoch-committee';
import type { TokenWarning } from '@opentill/chain/token-warning';
import type { ChainStatus } from '@opentill/domain/chain-status';
import type { Chain } from '@opentill/domain/chains';
import { GatewayError } from '@opentill/domain/gateway-error';
import type { Clock } from '@opentill/runtime/clock';
import type { CheckResult } from '@opentill/runtime/health';
import type { Logger } from '@opentill/runtime/logger';
import type { Metrics } from '@opentill/runtime/metrics';
import { seenBlock, type ChainState, type HeadBlock } from './chain-state.ts';
import type { FinalityView } from './finality-watch.ts';
import { createAlarmWatch, type AlarmWatch } from './observe/alarm-watch.ts';
import {
  createChainFigures,
  healthOf,
  NOT_FAILING,
  statusOf,
  type ChainFigures,
  type FateFigures,
} from './observe/chain-figures.ts';
import { livenessOf } from './observe/liveness.ts';
import { createNodeObserver } from './observe/nodes.ts';
import { createScanMeters, type ScanMeters } from './observe/scan-meters.ts';
import type { Written } from './scan-change.ts';
import { isContradiction, isHalt, isScanError } from './scan-error.ts';
import type { ScanNetwork } from './scan-network.ts';

/** Parts of a round fail independently. A failure of 'seen' stops the whole chain. */
export type ScanPart =
  | 'seen'
  | 'branch'
  | 'verified'
  | 'finality'
  | 'catch-up'
  | 'rescan'
  | 'fates'
  | 'tokens'
  | 'certify'
  | 'lease'
  | 'status';

const LOGGED_IDS_MAX = 50;
const CONTRADICTIONS = ['refuted', 'seen-not-verified', 'rescan'] as const;

export interface Commit {
  readonly state: ChainState;
  readonly written: Written;
  readonly depthBlocks: number;
}

interface Noting {
  readonly figureOf: (chain: Chain) => ChainFigures;
  readonly alarms: AlarmWatch;
  readonly meters: ScanMeters;
  readonly logger: Logger;
  readonly nowMs: () => number;
}

/** Receives changes only after they are committed. */
export type ScanObserver = ReturnType<typeof createObserve>;

export function createObserve(deps: {
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clock: Clock;
}) {
  const { metrics, logger, clock } = deps;
  const nowMs = (): number => clock.now().getTime();
  const figures = new Map<Chain, ChainFigures>();
  const figureOf = (chain: Chain): ChainFigures => {
    const figure = figures.get(chain) ?? createChainFigures();
    figures.set(chain, figure);
    return figure;
  };
  const alarms = createAlarmWatch(figures, { logger, nowMs });
  const meters = createScanMeters(metrics, { figures, alarms, nowMs });
  const noting = { figureOf, alarms, meters, logger, nowMs };
  return {
    nodes: createNodeObserver(deps, (chain, source) => {
      figureOf(chain).finalityLag = { source, observedAtMs: nowMs() };
    }),
    ...noteProgress(noting),
    ...noteReadings(noting),
    ...noteTrouble(noting),
    status: (chain: Chain): ChainStatus => statusOf(figureOf(chain), alarms.judge(chain), nowMs()),
    /** Healthy if this replica scans the chain, or waits as its standby. */
    health: (chain: Chain): CheckResult => healthOf(figureOf(chain), alarms.judge(chain), nowMs()),
    liveness: (): CheckResult => livenessOf(figures, nowMs()),
  };
}

function noteProgress({ figureOf, alarms, meters, logger, nowMs }: Noting) {
  return {
    watching(network: ScanNetwork, sources: ChainReader['sources']): void {
      const { chain } = network;
      // From 0, so that a rule sees the first one as an increase.
      for (const kind of CONTRADICTIONS) meters.contradictions.inc({ chain, kind }, 0);
      for (const counter of [meters.commits, meters.reorganisations, meters.refusedCommits])
        counter.inc({ chain }, 0);
      Object.assign(figureOf(chain), { network, sources, watchedAtMs: nowMs() });
    },
    opened(chain: Chain, state: ChainState, isFirst: boolean): void {
      const figure = figureOf(chain);
      // After an error the state is loaded again; only the first load is logged.
      if (figure.state === undefined) {
        figure.openedAtMs = nowMs();
        logger.info('chain opened', { chain, isFirst, ...positions(state) });
      }
      markMoves(figure, state, nowMs());
    },
    /** Another replica scans the chain. */
    closed(chain: Chain): void {
      const figure = figureOf(chain);
      figure.pauseReason = undefined; // reported by the lease holder
      if (figure.state === undefined && figure.halted === undefined) return;
      Object.assign(figure, {
        state: undefined,
        headTimeSeconds: undefined,
        halted: undefined,
        haltDetail: undefined,
        own: undefined,
        fates: {},
        tokenWarnings: [],
        verifying: NOT_FAILING,
      } satisfies Partial<ChainFigures>);
      logger.info('chain given up', { chain });
      alarms.judge(chain);
    },
    /** A resting chain has successful rounds: only the database is asked, and no node has failed. */
    resting(chain: Chain, isResting: boolean): void {
      const figure = figureOf(chain);
      const { restingSinceMs } = figure;
      if (restingSinceMs !== undefined) figure.restedMs = nowMs() - restingSinceMs;
      figure.restingSinceMs = isResting ? nowMs() : undefined;
    },
    ticked(chain: Chain): void {
      const figure = figureOf(chain);
      figure.tickedAtMs = nowMs();
      if (figure.restingSinceMs === undefined) figure.restedMs = 0;
      // A paused chain is not read, so its halt may persist.
      if (figure.pauseReason === undefined)
        Object.assign(figure, { halted: undefined, haltDetail: undefined });
      alarms.judge(chain);
    },
    committed(chain: Chain, { state, written, depthBlocks }: Commit): void {
      markMoves(figureOf(chain), state, nowMs());
      figureOf(chain).tickedAtMs = nowMs(); // catching up is one long round
      meters.commits.inc({ chain });
      if (depthBlocks > 0) {
        meters.reorganisations.inc({ chain });
        meters.depth.observe({ chain }, depthBlocks);
        logger.warn('reorganisation followed', { chain, depthBlocks, ...positions(state) });
      }
      for (const [name, ids] of namedTransfers(written)) {
        meters.transfers.inc({ chain, state: name }, ids.length);
        const transferIds = ids.slice(0, LOGGED_IDS_MAX);
        logger.info(`transfers ${name}`, { chain, transferIds, count: ids.length, ...positions(state) });
      }
      const { changedFates } = written;
      if (changedFates.length === 0) return;
      meters.fates.inc({ chain }, changedFates.length);
      const hashes = { txHashes: changedFates.slice(0, LOGGED_IDS_MAX), count: changedFates.length };
      logger.info('fates changed', { chain, ...hashes, ...positions(state) });
    },
  };
}

function noteReadings({ figureOf, logger, nowMs }: Noting) {
  return {
    /** `isLook`: blocks near the head are left unread at a rest. */
    headNamed(chain: Chain, head: HeadBlock, isLook: boolean): void {
      // The last head, not the highest, capped at now. One answer from the future would otherwise hide a stalled chain
      // permanently, and a development chain ahead of the clock would look stalled.
      figureOf(chain).headTimeSeconds = Math.min(head.timeSeconds, Math.floor(nowMs() / 1_000));
      figureOf(chain).isLook = isLook;
    },
    finalitySeen(chain: Chain, finality: FinalityView): void {
      figureOf(chain).finality = finality;
    },
    /** The verified cursor moved, or no block was deep enough. */
    verifiedRead(chain: Chain): void {
      figureOf(chain).verifying = NOT_FAILING;
    },
    fatesRead(chain: Chain, own: FateFigures): void {
      Object.assign(figureOf(chain), { own, fates: { waitingSinceMs: own.waitingSinceMs } });
    },
    tokensAsked(chain: Chain, tokenWarnings: readonly TokenWarning[]): void {
      figureOf(chain).tokenWarnings = tokenWarnings;
    },
    /** Logged once per chain. All later committees are derived from this one, which nodes reported without proof. */
    committeeTrusted(chain: Chain, { epoch, members }: EpochCommittee): void {
      const digest = createHash('sha256').update(JSON.stringify(members)).digest('hex');
      logger.warn('committee trusted without proof', { chain, epoch, digest });
    },
    /** Undefined clears the operator's pause reason. */
    pauseSeen(chain: Chain, reason: string | undefined): void {
      figureOf(chain).pauseReason = reason;
    },
  };
}

function noteTrouble({ figureOf, alarms, meters, logger, nowMs }: Noting) {
  const contradicted =
    (kind: (typeof CONTRADICTIONS)[number]) =>
    (chain: Chain, transfers: readonly { readonly txHash: string }[]): void => {
      meters.contradictions.inc({ chain, kind }, transfers.length);
      const txHashes = transfers.slice(0, LOGGED_IDS_MAX).map((t) => t.txHash);
      logger.error('transfers contradicted', { chain, kind, txHashes });
    };
  return {
    failed(chain: Chain, part: ScanPart, error: unknown, failuresInRow: number): void {
      const code = error instanceof GatewayError ? error.code : 'UNKNOWN';
      meters.errors.inc({ chain, part, code });
      if (isHalt(error)) Object.assign(figureOf(chain), { halted: code, haltDetail: error.message });
      markFailure(figureOf(chain), part, error, nowMs());
      alarms.judge(chain);
      // A halt is logged as its alarm. Other failures are logged at powers of two; the counter counts all.
      if (isHalt(error) || !Number.isInteger(Math.log2(failuresInRow))) return;
      logger[levelOf(error)]('scan failed', { chain, part, code, failuresInRow, error });
    },
    /** Another replica holds the chain's lease, so the database rejected the commit. No row was written. */
    refused(chain: Chain): void {
      meters.refusedCommits.inc({ chain });
      logger.warn('commit refused', { chain });
    },
    /** Transfers in a node's logs, but not in its receipts. */
    refuted: contradicted('refuted'),
    /** Seen transfers that the verified blocks lack. They are orphaned. */
    seenButNotVerified: contradicted('seen-not-verified'),
    /** A rescan did not find a verified transfer. No row is changed; an operator must decide. */
    rescanContradicts: contradicted('rescan'),
    checked(chain: Chain, leftOut: CheckFailure | undefined): void {
      const figure = figureOf(chain);
      if (figure.leftOut === leftOut) return;
      figure.leftOut = leftOut;
      alarms.judge(chain);
    },
    /** A halt stored by an earlier lease holder lasts until a round succeeds. */
    inheritedHalt(chain: Chain, code: string): void {
      figureOf(chain).halted ??= code;
      alarms.judge(chain);
    },
  };
}

function levelOf(error: unknown): 'debug' | 'warn' | 'error' {
  // One source is briefly behind the other at each new block. An alarm reports it if it lasts.
  if (isScanError(error, 'DEPTH_NOT_VOUCHED')) return 'debug';
  return error instanceof GatewayError && error.retryable ? 'warn' : 'error';
}

function markFailure(figure: ChainFigures, part: ScanPart, error: unknown, nowMs: number): void {
  const { fates, verifying } = figure;
  if (part === 'seen') {
    figure.failedBy = error instanceof GatewayError ? error.code : 'UNKNOWN';
    figure.failedAtMs = nowMs;
  }
  if (part === 'fates') figure.fates = { ...fates, failingSinceMs: fates.failingSinceMs ?? nowMs };
  if (part !== 'verified' && part !== 'branch') return;
  figure.verifying = {
    failingSinceMs: verifying.failingSinceMs ?? nowMs,
    contradictionsInRow: verifying.contradictionsInRow + (isContradiction(error) ? 1 : 0),
  };
}

function markMoves(figure: ChainFigures, state: ChainState, nowMs: number): void {
  if (figure.state?.head.hash !== state.head.hash) figure.headMovedAtMs = nowMs;
  if (figure.state?.verifiedHeight !== state.verifiedHeight) figure.verifiedMovedAtMs = nowMs;
  figure.state = state;
}

function namedTransfers(written: Written): readonly (readonly [string, readonly string[]])[] {
  const named = [
    ['detected', written.detectedIds],
    ['verified', written.verifiedIds],
    ['orphaned', written.orphanedIds],
  ] as const;
  return named.filter(([, ids]) => ids.length > 0);
}

function positions(state: ChainState): Readonly<Record<string, unknown>> {
  return { head: state.head.height, seen: seenBlock(state).height, verified: state.verifiedHeight };
}
