import { createHash } from 'node:crypto';
import type { ChainReader } from '@opentill/chain/chain-reader';
import type { CheckFailure } from '@opentill/chain/check-failure';
import type { EpochCommittee } from '@opentill/chain/epoch-committee';
import type { TokenWarning } from '@opentill/chain/token-warning';
import type { CandidateTransfer } from '@opentill/chain/transfer';
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
import { createNodeObserver, type NodeObserver } from './observe/nodes.ts';
import { createScanMeters, type ScanMeters } from './observe/scan-meters.ts';
import type { LiveTransfer, Written } from './scan-change.ts';
import { isContradiction, isHalt, isScanError } from './scan-error.ts';
import type { ScanNetwork } from './scan-network.ts';

/** Parts that fail on their own. A failure of 'seen' stops the whole chain. */
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

/** Receives what happens to chains, changes once they are committed. */
export interface ScanObserver {
  /** For the readers of the nodes. */
  readonly nodes: NodeObserver;
  /** The chain is going to be scanned, by this replica or another; `sources` tells how its nodes do. */
  watching(network: ScanNetwork, sources: ChainReader['sources']): void;
  /** This replica begins to scan the chain. */
  opened(chain: Chain, state: ChainState, isFirst: boolean): void;
  /** Another replica scans the chain, now or still. */
  closed(chain: Chain): void;
  /** A commit was refused, because another replica has taken the chain meanwhile. Nothing was written. */
  refused(chain: Chain): void;
  /** A round went through, with or without something new. */
  ticked(chain: Chain): void;
  /** A node named its newest block. */
  headNamed(chain: Chain, head: HeadBlock): void;
  /** The chain was asked what is final. */
  finalitySeen(chain: Chain, finality: FinalityView): void;
  committed(
    chain: Chain,
    commit: {
      readonly state: ChainState;
      readonly written: Written;
      /** Stored blocks that a reorganisation took back; mostly 0. */
      readonly depthBlocks: number;
    },
  ): void;
  failed(chain: Chain, part: ScanPart, error: unknown, failuresInRow: number): void;
  /** The verified cursor moved, or nothing was deep enough. */
  verifiedRead(chain: Chain): void;
  /** An operator has paused the chain for this reason, or nobody has. */
  pauseSeen(chain: Chain, reason: string | undefined): void;
  /** The contracts of the tokens were asked what they say of themselves. */
  tokensAsked(chain: Chain, warnings: readonly TokenWarning[]): void;
  /** From this committee all later ones are proven; it is believed by the word of nodes. Once a chain. */
  committeeTrusted(chain: Chain, committee: EpochCommittee): void;
  /** It was asked what became of own transactions. */
  fatesRead(chain: Chain, fates: FateFigures): void;
  /** The node's logs named transfers that its receipts know nothing of. */
  refuted(chain: Chain, candidates: readonly CandidateTransfer[]): void;
  /** What the seen pass recorded is not in the chain's record: taken back. */
  seenButNotVerified(chain: Chain, transfers: readonly LiveTransfer[]): void;
  /** A rescan did not find what is recorded and verified. Nothing was changed: somebody has to look. */
  rescanContradicts(chain: Chain, transfers: readonly LiveTransfer[]): void;
  /** The start-up checks ran; `failure`: why the chain is left out. */
  checked(chain: Chain, failure: CheckFailure | undefined): void;
  /** An earlier holder of the chain stored this halt. It holds until a round succeeds. */
  inheritedHalt(chain: Chain, code: string): void;
  /** State of the chain, for the database. */
  status(chain: Chain): ChainStatus;
  /** Whether the chain is scanned, or its standby works, as a health check says it. */
  health(chain: Chain): CheckResult;
}

const LOGGED_IDS_MAX = 50;

interface Noting {
  readonly figureOf: (chain: Chain) => ChainFigures;
  readonly alarms: AlarmWatch;
  readonly meters: ScanMeters;
  readonly logger: Logger;
  readonly nowMs: () => number;
}

/** Logs, counts and judges what the scan loops of a process report. */
export function createObserve(deps: {
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clock: Clock;
}): ScanObserver {
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
    nodes: createNodeObserver({
      logger,
      metrics,
      onFinalityLag(chain, source) {
        figureOf(chain).finalityLag = { source, toldAtMs: nowMs() };
      },
    }),
    ...noteProgress(noting),
    ...noteReadings(noting),
    ...noteTrouble(noting),
    status: (chain) => statusOf(figureOf(chain), alarms.judge(chain), nowMs()),
    health: (chain) => healthOf(figureOf(chain), alarms.judge(chain), nowMs()),
  };
}

/** A chain from one lease to the next, round by round. */
function noteProgress({
  figureOf,
  alarms,
  meters,
  logger,
  nowMs,
}: Noting): Pick<ScanObserver, 'watching' | 'opened' | 'closed' | 'ticked' | 'committed'> {
  return {
    watching(network, sources) {
      Object.assign(figureOf(network.chain), { network, sources, watchedAtMs: nowMs() });
    },
    opened(chain, state, isFirst) {
      const figure = figureOf(chain);
      // After an error the state is loaded again; only the first time is news.
      if (figure.state === undefined) {
        figure.openedAtMs = nowMs();
        logger.info('chain opened', { chain, isFirst, ...positions(state) });
      }
      markMoves(figure, state, nowMs());
    },
    closed(chain) {
      const figure = figureOf(chain);
      figure.pauseReason = undefined; // the holder of the chain reports it
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
    ticked(chain) {
      const figure = figureOf(chain);
      figure.tickedAtMs = nowMs();
      // A paused chain reads nothing, so its halt may still hold.
      if (figure.pauseReason === undefined)
        Object.assign(figure, { halted: undefined, haltDetail: undefined });
      alarms.judge(chain);
    },
    committed(chain, { state, written, depthBlocks }) {
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
      const told = { txHashes: changedFates.slice(0, LOGGED_IDS_MAX), count: changedFates.length };
      logger.info('fates changed', { chain, ...told, ...positions(state) });
    },
  };
}

/** Answers of nodes and of the database, which alarms judge later. */
function noteReadings({
  figureOf,
  logger,
  nowMs,
}: Noting): Pick<
  ScanObserver,
  | 'headNamed'
  | 'finalitySeen'
  | 'verifiedRead'
  | 'fatesRead'
  | 'tokensAsked'
  | 'committeeTrusted'
  | 'pauseSeen'
> {
  return {
    headNamed(chain, head) {
      // The last one counts, not the highest, and none counts as newer than now. Otherwise one answer from the future would hide
      // permanently that a chain stands still, and a development chain ahead of the clock would look as if it stood still.
      figureOf(chain).headTimeSeconds = Math.min(head.timeSeconds, Math.floor(nowMs() / 1_000));
    },
    finalitySeen(chain, finality) {
      figureOf(chain).finality = finality;
    },
    verifiedRead(chain) {
      figureOf(chain).verifying = NOT_FAILING;
    },
    fatesRead(chain, own) {
      Object.assign(figureOf(chain), { own, fates: { waitingSinceMs: own.waitingSinceMs } });
    },
    tokensAsked(chain, tokenWarnings) {
      figureOf(chain).tokenWarnings = tokenWarnings;
    },
    committeeTrusted(chain, { epoch, members }) {
      const digest = createHash('sha256').update(JSON.stringify(members)).digest('hex');
      logger.warn('committee trusted by the word of nodes', { chain, epoch, digest });
    },
    pauseSeen(chain, reason) {
      figureOf(chain).pauseReason = reason;
    },
  };
}

/** Failures, and answers that contradict one another. */
function noteTrouble({
  figureOf,
  alarms,
  meters,
  logger,
  nowMs,
}: Noting): Pick<
  ScanObserver,
  'failed' | 'refused' | 'refuted' | 'seenButNotVerified' | 'rescanContradicts' | 'checked' | 'inheritedHalt'
> {
  const contradicted =
    (kind: string) => (chain: Chain, transfers: readonly { readonly txHash: string }[]) => {
      meters.contradictions.inc({ chain, kind }, transfers.length);
      const txHashes = transfers.slice(0, LOGGED_IDS_MAX).map((t) => t.txHash);
      logger.error('transfers contradicted', { chain, kind, txHashes });
    };
  return {
    failed(chain, part, error, failuresInRow) {
      const code = error instanceof GatewayError ? error.code : 'UNKNOWN';
      meters.errors.inc({ chain, part, code });
      if (isHalt(error)) Object.assign(figureOf(chain), { halted: code, haltDetail: error.message });
      markFailure(figureOf(chain), part, error, nowMs());
      alarms.judge(chain);
      // A halt is logged as its alarm. Other failures are logged ever more rarely; the counter has all of them.
      if (isHalt(error) || !Number.isInteger(Math.log2(failuresInRow))) return;
      logger[levelOf(error)]('scan failed', { chain, part, code, failuresInRow, error });
    },
    refused(chain) {
      meters.refusedCommits.inc({ chain });
      logger.warn('commit refused', { chain });
    },
    refuted: contradicted('refuted'),
    seenButNotVerified: contradicted('seen-not-verified'),
    rescanContradicts: contradicted('rescan'),
    checked(chain, leftOut) {
      const figure = figureOf(chain);
      if (figure.leftOut === leftOut) return;
      figure.leftOut = leftOut;
      alarms.judge(chain);
    },
    inheritedHalt(chain, code) {
      figureOf(chain).halted ??= code;
      alarms.judge(chain);
    },
  };
}

function levelOf(error: unknown): 'debug' | 'warn' | 'error' {
  // With every block one source is a moment behind the other. When it lasts, an alarm says so.
  if (isScanError(error, 'DEPTH_NOT_VOUCHED')) return 'debug';
  return error instanceof GatewayError && error.retryable ? 'warn' : 'error';
}

function markFailure(figure: ChainFigures, part: ScanPart, error: unknown, nowMs: number): void {
  const { fates, verifying } = figure;
  if (part === 'seen') figure.failedBy = error instanceof GatewayError ? error.code : 'UNKNOWN';
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
