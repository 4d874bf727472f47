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
import { createNodeObserver } from './observe/nodes.ts';
import { createScanMeters, type ScanMeters } from './observe/scan-meters.ts';
import type { Written } from './scan-change.ts';
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

const LOGGED_IDS_MAX = 50;

export interface Commit {
  readonly state: ChainState;
  readonly written: Written;
  /** Stored blocks that a reorganisation took back; mostly 0. */
  readonly depthBlocks: number;
}

interface Noting {
  readonly figureOf: (chain: Chain) => ChainFigures;
  readonly alarms: AlarmWatch;
  readonly meters: ScanMeters;
  readonly logger: Logger;
  readonly nowMs: () => number;
}

/** Receives what happens to chains, changes once they are committed. */
export type ScanObserver = ReturnType<typeof createObserve>;

/** Logs, counts and judges what the scan loops of a process report. */
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
    /** For the readers of the nodes. */
    nodes: createNodeObserver(deps, (chain, source) => {
      figureOf(chain).finalityLag = { source, toldAtMs: nowMs() };
    }),
    ...noteProgress(noting),
    ...noteReadings(noting),
    ...noteTrouble(noting),
    /** State of the chain, for the database. */
    status: (chain: Chain): ChainStatus => statusOf(figureOf(chain), alarms.judge(chain), nowMs()),
    /** Whether the chain is scanned, or its standby works, for a health check. */
    health: (chain: Chain): CheckResult => healthOf(figureOf(chain), alarms.judge(chain), nowMs()),
  };
}

/** A chain from one lease to the next, round by round. */
function noteProgress({ figureOf, alarms, meters, logger, nowMs }: Noting) {
  return {
    /** This replica or another one is going to scan the chain; `sources` gives the health of its nodes. */
    watching(network: ScanNetwork, sources: ChainReader['sources']): void {
      Object.assign(figureOf(network.chain), { network, sources, watchedAtMs: nowMs() });
    },
    /** This replica begins to scan the chain. */
    opened(chain: Chain, state: ChainState, isFirst: boolean): void {
      const figure = figureOf(chain);
      // After an error the state is loaded again; only the first time is news.
      if (figure.state === undefined) {
        figure.openedAtMs = nowMs();
        logger.info('chain opened', { chain, isFirst, ...positions(state) });
      }
      markMoves(figure, state, nowMs());
    },
    /** Another replica scans the chain, now or still. */
    closed(chain: Chain): void {
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
    /** A round went through, with or without something new. */
    ticked(chain: Chain): void {
      const figure = figureOf(chain);
      figure.tickedAtMs = nowMs();
      // A paused chain reads nothing, so its halt may still hold.
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
      const told = { txHashes: changedFates.slice(0, LOGGED_IDS_MAX), count: changedFates.length };
      logger.info('fates changed', { chain, ...told, ...positions(state) });
    },
  };
}

/** Answers of nodes and of the database, which alarms judge later. */
function noteReadings({ figureOf, logger, nowMs }: Noting) {
  return {
    /** A node named its newest block. */
    headNamed(chain: Chain, head: HeadBlock): void {
      // The last one counts, not the highest, and none counts as newer than now. Otherwise one answer from the future would hide
      // permanently that a chain stands still, and a development chain ahead of the clock would look as if it stood still.
      figureOf(chain).headTimeSeconds = Math.min(head.timeSeconds, Math.floor(nowMs() / 1_000));
    },
    finalitySeen(chain: Chain, finality: FinalityView): void {
      figureOf(chain).finality = finality;
    },
    /** The verified cursor moved, or nothing was deep enough. */
    verifiedRead(chain: Chain): void {
      figureOf(chain).verifying = NOT_FAILING;
    },
    /** Sources were asked about own transactions. */
    fatesRead(chain: Chain, own: FateFigures): void {
      Object.assign(figureOf(chain), { own, fates: { waitingSinceMs: own.waitingSinceMs } });
    },
    /** The contracts of the tokens were asked. */
    tokensAsked(chain: Chain, tokenWarnings: readonly TokenWarning[]): void {
      figureOf(chain).tokenWarnings = tokenWarnings;
    },
    /** All later committees are proven from this one, which is trusted by the word of nodes. Once a chain. */
    committeeTrusted(chain: Chain, { epoch, members }: EpochCommittee): void {
      const digest = createHash('sha256').update(JSON.stringify(members)).digest('hex');
      logger.warn('committee trusted by the word of nodes', { chain, epoch, digest });
    },
    /** An operator has paused the chain for this reason, or it is not paused. */
    pauseSeen(chain: Chain, reason: string | undefined): void {
      figureOf(chain).pauseReason = reason;
    },
  };
}

/** Failures, and answers that contradict one another. */
function noteTrouble({ figureOf, alarms, meters, logger, nowMs }: Noting) {
  const contradicted =
    (kind: string) =>
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
      // A halt is logged as its alarm. Other failures are logged ever more rarely; the counter has all of them.
      if (isHalt(error) || !Number.isInteger(Math.log2(failuresInRow))) return;
      logger[levelOf(error)]('scan failed', { chain, part, code, failuresInRow, error });
    },
    /** A commit was refused, because another replica has taken the chain meanwhile. Nothing was written. */
    refused(chain: Chain): void {
      meters.refusedCommits.inc({ chain });
      logger.warn('commit refused', { chain });
    },
    /** The node's logs named transfers that its receipts do not have. */
    refuted: contradicted('refuted'),
    /** Transfers that the seen pass recorded are not in the verified blocks: taken back. */
    seenButNotVerified: contradicted('seen-not-verified'),
    /** A rescan did not find what is recorded and verified. Nothing was changed: an operator has to look. */
    rescanContradicts: contradicted('rescan'),
    /** The start-up checks ran; `leftOut`: why the chain is left out. */
    checked(chain: Chain, leftOut: CheckFailure | undefined): void {
      const figure = figureOf(chain);
      if (figure.leftOut === leftOut) return;
      figure.leftOut = leftOut;
      alarms.judge(chain);
    },
    /** An earlier holder of the chain stored this halt. It holds until a round succeeds. */
    inheritedHalt(chain: Chain, code: string): void {
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
